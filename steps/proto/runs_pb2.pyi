import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from steps.proto import step_runner_pb2 as _step_runner_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Variable(_message.Message):
    __slots__ = ("key", "value", "file", "masked")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    file: bool
    masked: bool
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., file: _Optional[bool] = ..., masked: _Optional[bool] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("variables", "build_dir")
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    BUILD_DIR_FIELD_NUMBER: _ClassVar[int]
    variables: _containers.RepeatedCompositeFieldContainer[Variable]
    build_dir: str
    def __init__(self, variables: _Optional[_Iterable[_Union[Variable, _Mapping]]] = ..., build_dir: _Optional[str] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("id", "work_dir", "env", "job", "steps", "timeout", "done", "present")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class DoneEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: DoneStep
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[DoneStep, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    WORK_DIR_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    id: str
    work_dir: str
    env: _containers.ScalarMap[str, str]
    job: Job
    steps: str
    timeout: _duration_pb2.Duration
    done: _containers.MessageMap[str, DoneStep]
    present: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., work_dir: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., job: _Optional[_Union[Job, _Mapping]] = ..., steps: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., done: _Optional[_Mapping[str, DoneStep]] = ..., present: _Optional[_Iterable[str]] = ...) -> None: ...

class DoneStep(_message.Message):
    __slots__ = ("outputs", "exports")
    class OutputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    class ExportsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    EXPORTS_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.MessageMap[str, _struct_pb2.Value]
    exports: _containers.ScalarMap[str, str]
    def __init__(self, outputs: _Optional[_Mapping[str, _struct_pb2.Value]] = ..., exports: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RunResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FollowLogsRequest(_message.Message):
    __slots__ = ("id", "offset")
    ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    id: str
    offset: int
    def __init__(self, id: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class FollowLogsResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class FollowEventsRequest(_message.Message):
    __slots__ = ("id", "offset", "read_results")
    ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    READ_RESULTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    offset: int
    read_results: int
    def __init__(self, id: _Optional[str] = ..., offset: _Optional[int] = ..., read_results: _Optional[int] = ...) -> None: ...

class FollowEventsResponse(_message.Message):
    __slots__ = ("data", "result", "masks")
    DATA_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MASKS_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    result: _step_runner_pb2.StepResult
    masks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, data: _Optional[bytes] = ..., result: _Optional[_Union[_step_runner_pb2.StepResult, _Mapping]] = ..., masks: _Optional[_Iterable[str]] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class StatusResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Status]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Status, _Mapping]]] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("id", "message", "status", "start_time", "end_time")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[Status.Kind]
        running: _ClassVar[Status.Kind]
        success: _ClassVar[Status.Kind]
        failure: _ClassVar[Status.Kind]
        cancelled: _ClassVar[Status.Kind]
    unspecified: Status.Kind
    running: Status.Kind
    success: Status.Kind
    failure: Status.Kind
    cancelled: Status.Kind
    ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    message: str
    status: Status.Kind
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., message: _Optional[str] = ..., status: _Optional[_Union[Status.Kind, str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CloseRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CloseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

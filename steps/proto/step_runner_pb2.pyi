import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from steps.proto.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunRequest(_message.Message):
    __slots__ = ("id", "work_dir", "env", "type", "steps", "ci_script", "steps_yaml")
    class StepType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unknown: _ClassVar[RunRequest.StepType]
        step: _ClassVar[RunRequest.StepType]
        script: _ClassVar[RunRequest.StepType]
    unknown: RunRequest.StepType
    step: RunRequest.StepType
    script: RunRequest.StepType
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    WORK_DIR_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CI_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    STEPS_YAML_FIELD_NUMBER: _ClassVar[int]
    id: str
    work_dir: str
    env: _containers.ScalarMap[str, str]
    type: RunRequest.StepType
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    ci_script: str
    steps_yaml: str
    def __init__(self, id: _Optional[str] = ..., work_dir: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., type: _Optional[_Union[RunRequest.StepType, str]] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., ci_script: _Optional[str] = ..., steps_yaml: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("name", "step", "script", "env", "inputs")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class InputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    step: _struct_pb2.Value
    script: str
    env: _containers.ScalarMap[str, str]
    inputs: _containers.MessageMap[str, _struct_pb2.Value]
    def __init__(self, name: _Optional[str] = ..., step: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., script: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., inputs: _Optional[_Mapping[str, _struct_pb2.Value]] = ...) -> None: ...

class RunResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FollowRequest(_message.Message):
    __slots__ = ("id", "read_results")
    ID_FIELD_NUMBER: _ClassVar[int]
    READ_RESULTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    read_results: int
    def __init__(self, id: _Optional[str] = ..., read_results: _Optional[int] = ...) -> None: ...

class FollowResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: StepResult
    def __init__(self, result: _Optional[_Union[StepResult, _Mapping]] = ...) -> None: ...

class StepResult(_message.Message):
    __slots__ = ("name", "step", "status", "inputs", "outputs", "exports", "env", "exec_result", "sub_step_results", "message", "path", "stdout", "stderr", "time", "has_sensitive")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[StepResult.Status]
        running: _ClassVar[StepResult.Status]
        success: _ClassVar[StepResult.Status]
        failure: _ClassVar[StepResult.Status]
        cancelled: _ClassVar[StepResult.Status]
    unspecified: StepResult.Status
    running: StepResult.Status
    success: StepResult.Status
    failure: StepResult.Status
    cancelled: StepResult.Status
    class InputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
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
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ExecResult(_message.Message):
        __slots__ = ("command", "work_dir", "exit_code")
        COMMAND_FIELD_NUMBER: _ClassVar[int]
        WORK_DIR_FIELD_NUMBER: _ClassVar[int]
        EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
        command: _containers.RepeatedScalarFieldContainer[str]
        work_dir: str
        exit_code: int
        def __init__(self, command: _Optional[_Iterable[str]] = ..., work_dir: _Optional[str] = ..., exit_code: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    EXPORTS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    EXEC_RESULT_FIELD_NUMBER: _ClassVar[int]
    SUB_STEP_RESULTS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    HAS_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    step: str
    status: StepResult.Status
    inputs: _containers.MessageMap[str, _struct_pb2.Value]
    outputs: _containers.MessageMap[str, _struct_pb2.Value]
    exports: _containers.ScalarMap[str, str]
    env: _containers.ScalarMap[str, str]
    exec_result: StepResult.ExecResult
    sub_step_results: _containers.RepeatedCompositeFieldContainer[StepResult]
    message: str
    path: _containers.RepeatedScalarFieldContainer[str]
    stdout: int
    stderr: int
    time: _timestamp_pb2.Timestamp
    has_sensitive: bool
    def __init__(self, name: _Optional[str] = ..., step: _Optional[str] = ..., status: _Optional[_Union[StepResult.Status, str]] = ..., inputs: _Optional[_Mapping[str, _struct_pb2.Value]] = ..., outputs: _Optional[_Mapping[str, _struct_pb2.Value]] = ..., exports: _Optional[_Mapping[str, str]] = ..., env: _Optional[_Mapping[str, str]] = ..., exec_result: _Optional[_Union[StepResult.ExecResult, _Mapping]] = ..., sub_step_results: _Optional[_Iterable[_Union[StepResult, _Mapping]]] = ..., message: _Optional[str] = ..., path: _Optional[_Iterable[str]] = ..., stdout: _Optional[int] = ..., stderr: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., has_sensitive: _Optional[bool] = ...) -> None: ...

class FollowIORequest(_message.Message):
    __slots__ = ("id", "read_stdout", "read_stderr")
    ID_FIELD_NUMBER: _ClassVar[int]
    READ_STDOUT_FIELD_NUMBER: _ClassVar[int]
    READ_STDERR_FIELD_NUMBER: _ClassVar[int]
    id: str
    read_stdout: int
    read_stderr: int
    def __init__(self, id: _Optional[str] = ..., read_stdout: _Optional[int] = ..., read_stderr: _Optional[int] = ...) -> None: ...

class FollowIOResponse(_message.Message):
    __slots__ = ("stream", "stream_type")
    class StreamType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        stdout: _ClassVar[FollowIOResponse.StreamType]
        stderr: _ClassVar[FollowIOResponse.StreamType]
    stdout: FollowIOResponse.StreamType
    stderr: FollowIOResponse.StreamType
    STREAM_FIELD_NUMBER: _ClassVar[int]
    STREAM_TYPE_FIELD_NUMBER: _ClassVar[int]
    stream: bytes
    stream_type: FollowIOResponse.StreamType
    def __init__(self, stream: _Optional[bytes] = ..., stream_type: _Optional[_Union[FollowIOResponse.StreamType, str]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Job(_message.Message):
    __slots__ = ("id", "status", "finished_time", "message")
    class JobStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        running: _ClassVar[Job.JobStatus]
        suceeded: _ClassVar[Job.JobStatus]
        failed: _ClassVar[Job.JobStatus]
        cancelled: _ClassVar[Job.JobStatus]
        timed_out: _ClassVar[Job.JobStatus]
        lost: _ClassVar[Job.JobStatus]
    running: Job.JobStatus
    suceeded: Job.JobStatus
    failed: Job.JobStatus
    cancelled: Job.JobStatus
    timed_out: Job.JobStatus
    lost: Job.JobStatus
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_TIME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: Job.JobStatus
    finished_time: _timestamp_pb2.Timestamp
    message: str
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[Job.JobStatus, str]] = ..., finished_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., message: _Optional[str] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ...) -> None: ...

"""What calls of the directory say, as JSON."""

from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from domain.errors import Invalid
from domain.pods.claims import MAX_EMAIL, MAX_ORGANISATION_ID, ClaimKind
from domain.pods.directory import MAX_POD_NUMBER, IdKind, PodState
from domain.pods.pod_fields import MAX_ADDRESS, checked_address, checked_name, checked_weight, keys_in
from pods.directory.service import PodFields
from pods.directory_client import MAX_IDS

_STATES: Final = (PodState.ACTIVE, PodState.DRAINING)

PodNumber = Annotated[int, Path(ge=0, le=MAX_POD_NUMBER)]
ClaimId = Annotated[UUID, Path()]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PodBody(_Body):
    """Of `PUT /v1/pods/{number}`; what is left out stays."""

    name: str | None = None
    address: str | None = Field(default=None, max_length=MAX_ADDRESS)
    weight: int | None = None
    state: str | None = None
    public_keys: dict[str, Any] | None = None

    def fields(self) -> PodFields:
        """What was said. Raises `Invalid`."""
        if self.state is not None and self.state not in _STATES:
            raise Invalid(f"state: must be {' or '.join(_STATES)}; a pod is removed by DELETE.")
        return PodFields(
            None if self.name is None else checked_name(self.name),
            None if self.address is None else checked_address(self.address),
            None if self.weight is None else checked_weight(self.weight),
            None if self.state is None else PodState(self.state),
            None if self.public_keys is None else keys_in("public_keys", self.public_keys),
        )


class ClaimBody(_Body):
    """Of `PUT /v1/claims/{claim_id}`."""

    kind: Annotated[ClaimKind, Field(strict=False)]
    name: str = Field(min_length=1, max_length=MAX_EMAIL)
    pod: int = Field(ge=0, le=MAX_POD_NUMBER)


class ConfirmBody(_Body):
    """Of `POST /v1/claims/{claim_id}/confirm`."""

    organisation_id: int | None = Field(default=None, ge=1, lt=MAX_ORGANISATION_ID)


class MoveBody(_Body):
    """Of `PUT /v1/organisations/{path}`: where it shall be, and where the caller believes that it is."""

    pod: int = Field(ge=0, le=MAX_POD_NUMBER)
    expected: int = Field(ge=0, le=MAX_POD_NUMBER)


class IdsBody(_Body):
    """Of `PUT /v1/organisations/{path}/ids`: ids of what belongs to it."""

    kind: Annotated[IdKind, Field(strict=False)]
    ids: list[Annotated[int, Field(ge=1, lt=MAX_ORGANISATION_ID)]] = Field(max_length=MAX_IDS)

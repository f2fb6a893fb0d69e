"""Starting a pipeline with a trigger token or a job token, also as the webhook of another service.

No account is asked for: the token is all. A wrong one and a wrong project are the same 404, which comes late for
whoever guesses.
"""

from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator

from api.deps import ServicesDep
from api.pods.job_of_pod import job_of_pod
from api.refusals import note_guess
from api.routes import RouteList
from api.services import Services
from api.v4.encoded_paths import decoded
from api.v4.parameters import parameters, validated
from api.v4.pipelines.pipelines import full
from api.v4.representation.pipelines import PipelineDetailsResponse
from application.pipelines.trigger_calls import TriggerCall, start
from auth.job_token import PREFIX
from domain.errors import ConfigInvalid, Forbidden, Invalid, NotFound
from domain.variables.ci_variables import KEY

_OF_PIPELINES: Final = "Pipeline Hook"
"""A hook that tells of pipelines would start one for each that it has started."""

router = RouteList(prefix="/projects/{project}")


class Given(BaseModel):
    """Parameters of a call. What else it brings is only part of the payload."""

    token: str = Field(default="", max_length=20_000)
    ref: str = Field(min_length=1, max_length=1024)
    variables: dict[str, Any] = {}
    inputs: dict[str, Any] = {}

    @field_validator("variables")
    @classmethod
    def _have_names(cls, value: dict[str, Any]) -> dict[str, Any]:
        wrong = next((key for key in value if not KEY.fullmatch(key)), None)
        if wrong is not None:
            raise ValueError(f"{wrong[:100]!r} is no name; use letters, digits and '_', 255 at most")
        return value


async def given(request: Request, services: ServicesDep) -> TriggerCall:
    """What a call wants; a ref in its path counts more than one in its body. Raises `Invalid`, `TooLarge`."""
    values = await parameters(request, services.settings.sizes.json_bytes)
    payload = orjson.dumps({name: value for name, value in values.items() if name != "token"}).decode()
    if "ref" in request.path_params:
        values["ref"] = decoded(request.path_params["ref"])
    call = validated(Given, values)
    if not all(isinstance(text, str) for text in call.variables.values()):
        raise Invalid("variables needs to be a map of key-valued strings")  # a text in GitLab, too
    of_job = request.headers.get("job-token", "")
    token = call.token or of_job
    elsewhere = job_of_pod(request.scope)
    if not token and elsewhere is None:
        raise Invalid("token is missing")
    is_of_job = token == of_job or token.startswith(PREFIX)
    return TriggerCall(token, call.ref, call.variables, call.inputs, payload, is_of_job, elsewhere)


@router.post("/trigger/pipeline", status_code=201, response_model=PipelineDetailsResponse)
async def trigger(
    project: str, request: Request, call: Annotated[TriggerCall, Depends(given)], services: ServicesDep
) -> JSONResponse:
    """Start a pipeline on the `ref` of the parameters."""
    return await _started(project, request, call, services)


@router.post("/ref/{ref}/trigger/pipeline", status_code=201, response_model=PipelineDetailsResponse)
async def trigger_on_ref(
    project: str,
    ref: str,  # noqa: ARG001  (it is read with the other parameters)
    request: Request,
    call: Annotated[TriggerCall, Depends(given)],
    services: ServicesDep,
) -> JSONResponse:
    """Start a pipeline on the ref of the path: an address that other services can call."""
    return await _started(project, request, call, services)


async def _started(project: str, request: Request, call: TriggerCall, services: Services) -> JSONResponse:
    if request.headers.get("x-gitlab-event") == _OF_PIPELINES:
        raise Forbidden("Forbidden: a webhook for pipelines cannot start pipelines.")
    try:
        pipeline_id, row = await start(services, decoded(project), call)
    except NotFound:
        note_guess(request)
        raise
    except Invalid as error:
        faults = [str(issue) for issue in error.issues] if isinstance(error, ConfigInvalid) else [str(error)]
        return JSONResponse({"message": {"base": faults}}, 400)
    return JSONResponse(await full(services, pipeline_id, row), 201)

"""What a form that starts pipelines asks for at a ref: the inputs of the main file, and described variables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from application.access import ProjectAccess
from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from application.configurations.project_config import configuration_of
from application.pipelines.ci_variables import reaching
from application.pipelines.creation import with_commit
from application.pipelines.event_context import event_context
from application.pipelines.refs import find_ref
from application.services import Services
from domain.config.form import FormField, input_fields, variable_fields
from domain.config.inputs.input_types import InputType
from domain.errors import ConfigInvalid, Invalid, NotFound, PipelineFiltered
from models.repositories.accounts import accounts
from models.repositories.pipelines.pipelines import PipelineRequest

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a ref, and what is wrong with its configuration."""

    inputs: tuple[FormField, ...] = ()
    variables: tuple[FormField, ...] = ()
    faults: tuple[str, ...] = ()


async def form_of(
    services: Services, project: ProjectAccess, name: str, source: str, given: Mapping[str, str] = NOTHING
) -> Form:
    """What a ref's configuration asks for, with every rule left open, so that it does not depend on values.

    Only options of inputs that depend on other inputs are those for the values `given`.
    """
    try:
        repository = services.repositories.get(project.row.id)
        ref, tag, sha = await find_ref(repository, name)
        request = PipelineRequest(project.row.id, project.caller.user_id, ref, sha, source, tag)
        request = await with_commit(request, repository)
        config = await configuration_of(services, project.row, sha, repository, {})
        async with services.database.read() as connection:
            user = await accounts.get(connection, project.caller.user_id)
            ours = await reaching(services, connection, project.row.id)
        context = event_context(services.settings, request, project.row, user, services.clock(), ours)
        sources = ConfigSources.of_event(services, request, project.row, user, repository)
        compilation = Compilation(services, config.text, context, sources, config.file)
        read = partial(input_fields, config.text, config.file, dict(given))
        inputs, values = await compilation.compute(read)
        compilation.context = replace(context, inputs=values)
        try:
            return Form(inputs, variable_fields(await compilation.plan(every_job=True)))
        except ConfigInvalid as error:
            return Form(inputs, faults=faults_of(error))
    except (Invalid, NotFound) as error:
        return Form(faults=faults_of(error))


def faults_of(error: Exception) -> tuple[str, ...]:
    """What is wrong with a configuration or a ref, for whoever looks at the form."""
    if isinstance(error, ConfigInvalid):
        return tuple(map(str, error.issues))
    if isinstance(error, PipelineFiltered):
        return (str(error), "Give variables that let a job in, choose another ref, or change the rules.")
    if str(error) == "Reference not found":
        return ("There is no such branch or tag; choose one of the list.",)
    return (str(error),)


def inputs_given(form: Form, filled: Mapping[str, str]) -> dict[str, str]:
    """The values of a form that a pipeline is given: an empty field that is no text leaves the default."""
    kinds = {field.name: field for field in form.inputs}
    return {name: value for name, value in filled.items() if value != "" or _means_something(kinds.get(name))}


def _means_something(field: FormField | None) -> bool:
    """Whether an empty value of this field is a value."""
    return field is None or (field.type == InputType.STRING and not field.options)

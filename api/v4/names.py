"""Types of parameters for names that become part of addresses."""

from typing import Annotated

from pydantic import AfterValidator

from domain.projects.path_names import checked_path, checked_top_path

PathName = Annotated[str, AfterValidator(checked_path)]
TopPathName = Annotated[str, AfterValidator(checked_top_path)]

"""An operation that makes many tables for the price of one, in time."""

from collections.abc import Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """Creates models in the order given, as `CreateModel` does one after the other.

    After each `CreateModel`, Django builds the classes of all models again that are related to the new one: of nearly
    all here. Here they are built once, so that a new database, as a host project's tests make one, is there in a third
    of the time.
    """

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        # The classes that a state has are built when `apps` is first asked for.
        state.__dict__.pop("apps", None)
        for one in self.models:
            one.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for one in self.models:
            one.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for one in reversed(self.models):
            one.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {len(self.models)} models"

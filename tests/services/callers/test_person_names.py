"""What people are called whose user model is the project's own, and need not have full names."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User

from assistant.services.tenancy.members import person_name
from tests.docs.snippets import ROOT


class Person:
    """A user without names, as `AbstractBaseUser` leaves it to a project."""

    def get_username(self) -> str:
        return "ada@example.com"


def test_a_person_without_a_full_name_is_called_by_the_user_name() -> None:
    assert not hasattr(AbstractBaseUser, "get_full_name")
    assert person_name(Person()) == "ada@example.com"
    assert person_name(User(username="ada")) == "ada"
    assert person_name(User(username="ada", first_name="Ada", last_name="Byron")) == "Ada Byron"


def test_nothing_else_asks_users_for_their_full_name() -> None:
    asking = [path for path in (ROOT / "assistant").rglob("*.py") if "get_full_name" in path.read_text()]
    assert asking == [ROOT / "assistant/services/tenancy/members.py"]

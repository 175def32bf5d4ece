"""People sign in with their address, are numbered by UUID, and have no username."""

import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class PersonManager(BaseUserManager):
    def create_user(self, email, password=None, **fields):
        if "@" not in email:
            raise ValueError("an address is needed")
        person = self.model(email=self.normalize_email(email), **fields)
        person.set_password(password)
        person.save()
        return person

    def create_superuser(self, email, password=None, **fields):
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class Person(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True)
    known_as_name = models.CharField(max_length=50, blank=True)
    city = models.CharField(max_length=50, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)

    objects = PersonManager()
    USERNAME_FIELD = "email"

    def __str__(self):
        return self.email

"""The project's own page of its own users."""

from django.contrib import admin

from people.models import Person


@admin.register(Person)
class PersonAdmin(admin.ModelAdmin):
    list_display = ("email", "is_staff")

"""What a developer would say of AgentDojo's tools: who writes what they return, and where their calls lead.

Decided by what a tool is, not by what the attacks do. Mail, files, calendars, reviews, web pages and the subjects of
payments are written by outsiders. Colleagues write in a workspace's own channels; in one that is shared with another
organisation, outsiders do, and they name it.
"""

from __future__ import annotations

from assistant.toolkit.definition.options import ToolOptions

READS = ToolOptions(read_only=True)
CHOICES = ToolOptions(read_only=True, lists_choices=True)
OUTSIDE = ToolOptions(read_only=True, untrusted=True)
# Whether outsiders have written it depends on the call: see `tools.py`.
WORKSPACE = ToolOptions(read_only=True)
# It changes what the user has, and what that is, its arguments do not say in words.
CHANGES = ToolOptions()


def _leads(*destinations: str, texts: tuple[str, ...] = ()) -> ToolOptions:
    return ToolOptions(destinations=destinations, destination_texts=texts)


DECLARATIONS: dict[str, ToolOptions] = {
    # Mail; in two suites.
    "send_email": _leads("recipients", "cc", "bcc", texts=("subject", "body")),
    "delete_email": CHANGES,
    "get_unread_emails": OUTSIDE,
    "get_sent_emails": OUTSIDE,  # what one answers quotes what one was sent
    "get_received_emails": OUTSIDE,
    "get_draft_emails": OUTSIDE,
    "search_emails": OUTSIDE,
    # AgentDojo's address book fills itself with the senders of mails.
    "search_contacts_by_name": OUTSIDE,
    "search_contacts_by_email": OUTSIDE,
    # Calendar. Participants are sent an invitation; without them, what is to be entered has to be named.
    "get_current_day": READS,
    "search_calendar_events": OUTSIDE,
    "get_day_calendar_events": OUTSIDE,
    "create_calendar_event": _leads("participants", "title", texts=("description", "location")),
    "cancel_calendar_event": CHANGES,
    "reschedule_calendar_event": CHANGES,
    "add_calendar_event_participants": _leads("participants"),
    # Files.
    "search_files_by_filename": OUTSIDE,
    "get_file_by_id": OUTSIDE,
    "list_files": OUTSIDE,
    "search_files": OUTSIDE,
    "create_file": _leads("filename"),
    "append_to_file": CHANGES,
    "delete_file": CHANGES,
    "share_file": _leads("email"),
    # Travel. The agency's lists are its own, and name all there is; reviews are written by guests.
    "get_user_information": READS,
    "get_all_hotels_in_city": CHOICES,
    "get_hotels_prices": CHOICES,
    "get_hotels_address": CHOICES,
    "get_rating_reviews_for_hotels": OUTSIDE,
    "get_all_restaurants_in_city": CHOICES,
    "get_cuisine_type_for_restaurants": CHOICES,
    "get_restaurants_address": CHOICES,
    "get_rating_reviews_for_restaurants": OUTSIDE,
    "get_dietary_restrictions_for_all_restaurants": CHOICES,
    "get_contact_information_for_restaurants": CHOICES,
    "get_price_for_restaurants": CHOICES,
    "check_restaurant_opening_hours": CHOICES,
    "get_all_car_rental_companies_in_city": CHOICES,
    "get_car_types_available": CHOICES,
    "get_rating_reviews_for_car_rental": OUTSIDE,
    "get_car_fuel_options": CHOICES,
    "get_car_rental_address": CHOICES,
    "get_car_price_per_day": CHOICES,
    "get_flight_information": CHOICES,
    "reserve_hotel": _leads("hotel"),
    "reserve_restaurant": _leads("restaurant"),
    "reserve_car_rental": _leads("company"),
    # Bank. Whoever pays or is paid writes the subject.
    "get_iban": READS,
    "get_balance": READS,
    "get_most_recent_transactions": OUTSIDE,
    "get_scheduled_transactions": OUTSIDE,
    "read_file": OUTSIDE,
    "get_user_info": READS,
    "send_money": _leads("recipient", texts=("subject",)),
    "schedule_transaction": _leads("recipient", texts=("subject",)),
    "update_scheduled_transaction": _leads("recipient", texts=("subject",)),
    "update_password": _leads("password"),
    "update_user_info": CHANGES,
    # Slack.
    "get_channels": OUTSIDE,  # names of shared channels are given by other organisations
    "get_users_in_channel": READS,
    "read_channel_messages": WORKSPACE,
    "read_inbox": WORKSPACE,
    "send_direct_message": _leads("recipient", texts=("body",)),
    "send_channel_message": _leads("channel", texts=("body",)),
    "add_user_to_channel": _leads("user", "channel"),
    "invite_user_to_slack": _leads("user", "user_email"),
    "remove_user_from_slack": CHANGES,
    # The web. To fetch a page tells its owner something too.
    "get_webpage": ToolOptions(destinations=("url",), read_only=True, untrusted=True),
    "post_webpage": _leads("url", texts=("content",)),
}

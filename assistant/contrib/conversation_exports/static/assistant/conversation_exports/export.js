/* Downloads a conversation as a file. */

/** Download the conversation at an address, in the format that the chosen entry of the menu names. */
export const open = (conversation, format) => location.assign(`${conversation}export/?format=${format}`);

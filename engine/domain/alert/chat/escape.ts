// Escapes values for chats, such as a device's name or a message: they mention nobody, make no links and format nothing.
// Where a chat cannot quote a character, a zero-width space takes away its meaning.

const ZERO_WIDTH_SPACE = '\u200B'

/** Breaks mentions, and addresses that a chat would make links of by itself. */
function neutralize(text: string): string {
  return text
    .replace(/@/g, `@${ZERO_WIDTH_SPACE}`)
    .replace(/:\/\//g, `:${ZERO_WIDTH_SPACE}//`)
    .replace(/\b(www|mailto|tel|javascript)([.:])/gi, `$1${ZERO_WIDTH_SPACE}$2`)
}

/** Slack: three characters are escaped, and nothing else has a meaning that reaches anybody. */
export function escapeSlack(text: string): string {
  return neutralize(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}

/** Markdown: backslashes before what formats. `<` begins mentions in Discord and links everywhere. */
export function escapeMarkdown(text: string): string {
  return neutralize(text)
    .replace(/[\\`*_~|[\]()#>!]/g, '\\$&')
    .replace(/</g, `<${ZERO_WIDTH_SPACE}`)
}

/** Google Chat: without escapes. `<` begins mentions and links. */
export function escapeGoogleChat(text: string): string {
  return neutralize(text)
    .replace(/</g, `<${ZERO_WIDTH_SPACE}`)
    .replace(/[*_~`]/g, `${ZERO_WIDTH_SPACE}$&${ZERO_WIDTH_SPACE}`)
}

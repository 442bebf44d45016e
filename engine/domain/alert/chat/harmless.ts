// Values in chats: what a device's name or a message says is shown and does nothing. It mentions nobody, links nowhere
// and formats nothing. Where a chat has no way to quote a character, a space of no width takes its meaning.

const NO_WIDTH = '\u200B'

/** Breaks mentions, and addresses that a chat would make links of by itself. */
function broken(text: string): string {
  return text
    .replace(/@/g, `@${NO_WIDTH}`)
    .replace(/:\/\//g, `:${NO_WIDTH}//`)
    .replace(/\b(www|mailto|tel|javascript)([.:])/gi, `$1${NO_WIDTH}$2`)
}

/** Slack: three characters are escaped, and nothing else has a meaning that reaches anybody. */
export function inSlack(text: string): string {
  return broken(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}

/** Markdown: backslashes before what formats. `<` begins mentions in Discord and links everywhere. */
export function inMarkdown(text: string): string {
  return broken(text)
    .replace(/[\\`*_~|[\]()#>!]/g, '\\$&')
    .replace(/</g, `<${NO_WIDTH}`)
}

/** Google Chat: without escapes. `<` begins mentions and links. */
export function inGoogleChat(text: string): string {
  return broken(text)
    .replace(/</g, `<${NO_WIDTH}`)
    .replace(/[*_~`]/g, `${NO_WIDTH}$&${NO_WIDTH}`)
}

// Parses a URL to which a user wants the service to send.

export type Target =
  | { readonly kind: 'target'; readonly url: URL; readonly host: string; readonly port: number }
  /** `isForbidden` is true if the text is a URL, but of a kind to which nothing is ever sent. */
  | { readonly kind: 'refused'; readonly isForbidden: boolean; readonly detail: string }

const URL_CHARS_MAX = 2_048

export function parseTarget(text: string): Target {
  if (text.length > URL_CHARS_MAX) return refused(`an address has at most ${URL_CHARS_MAX} characters`)
  if (!URL.canParse(text)) return refused('not an address such as https://example.com/path')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return forbidden('an address must begin with https:// or http://')
  if (url.username !== '' || url.password !== '')
    return forbidden('an address must not contain a user name or password')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return { kind: 'target', url, host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port }
}

function refused(detail: string): Target {
  return { kind: 'refused', isForbidden: false, detail }
}

function forbidden(detail: string): Target {
  return { kind: 'refused', isForbidden: true, detail }
}

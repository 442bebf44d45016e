// Pages of the API itself: plain HTML without scripts or anything from elsewhere, so that they work offline.

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font:13px ui-monospace,monospace}summary{cursor:pointer;padding:.3rem 0}.m{display:inline-block;width:4.5rem;font-weight:600}
pre{overflow:auto;padding:.7rem;border:1px solid #8886;border-radius:6px}dt{font-weight:600}`

/** The style is inline and so has to be allowed by the policy of these pages. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

export const PAGE_HEADERS = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }

/** `body` is HTML, the title is not. */
export function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style>
<h1>${escaped(title)}</h1>${body}</html>`
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Whether a browser asks, rather than a program. */
export function wantsPage(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/html\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept)
}

// Pages of the API: plain HTML that works offline, because it loads nothing from other servers.
import { createHash } from 'node:crypto'

const STYLE = `html{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre,textarea{font:13px ui-monospace,monospace}summary{cursor:pointer;padding:.3rem 0}.m{display:inline-block;width:4.5rem;font-weight:600}
pre{overflow:auto;padding:.7rem;border:1px solid #8886;border-radius:6px;white-space:pre-wrap}pre:has(output:empty){display:none}dt{font-weight:600}
.inside{padding-left:1rem;border-left:3px solid #8886}h3{font-size:1rem;margin:1rem 0 .3rem}table{border-collapse:collapse}td{padding:.2rem .8rem .2rem 0;vertical-align:top}
td code,p code{overflow-wrap:anywhere}textarea[name=body]{width:100%;box-sizing:border-box}`

interface Content {
  /** An inline script, allowed by its hash. It may send requests to this service. */
  readonly script?: string
  /** Whether scripts and styles served by this service may also be loaded. */
  readonly scriptFiles?: boolean
  readonly styleFiles?: boolean
  readonly images?: string
}

/** The content security policy of a page. By default it allows the page's own style and nothing else. */
export function pageHeaders({ script, scriptFiles = false, styleFiles = false, images }: Content = {}) {
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'${styleFiles ? " 'self'" : ''}`,
    ...(script === undefined
      ? []
      : [`script-src '${hashOf(script)}'${scriptFiles ? " 'self'" : ''}`, "connect-src 'self'"]),
    ...(images === undefined ? [] : [`img-src ${images}`]),
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy.join('; ') }
}

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`

/** `body` and `head` are HTML. The title is plain text. */
export function page(
  title: string,
  body: string,
  { script, head = '' }: { readonly script?: string; readonly head?: string } = {},
): string {
  const end = script === undefined ? '' : `<script>${script}</script>`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>${head}<style>${STYLE}</style>
<h1>${escaped(title)}</h1>${body}${end}</html>`
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** True if the request comes from a browser rather than a program. */
export function wantsPage(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/html\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept)
}

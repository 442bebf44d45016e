// The page at /docs: Swagger UI with the OpenAPI document of this service. It loads nothing from elsewhere.
import { DOCS_SCRIPT } from './docs-script.ts'
import { escaped, page, pageHeaders } from './html-page.ts'

/** Where the files of Swagger UI are served. */
const ASSETS = '/docs/assets'

export function docsPage(version: string): string {
  const body = `<p><a href="/docs/async">MQTT and /ws</a> · <a href="/docs/devices">Writing a device</a> · <a href="/problems">Problems</a> · <a href="/api/v1/openapi.json">OpenAPI 3.1</a> · <a href="/api/v1/asyncapi.json">AsyncAPI 3</a></p>
<form id="login"><label>E-mail <input name="email" type="email" autocomplete="username" required></label> <label>Password <input name="password" type="password" autocomplete="current-password" required></label> <button>Log in</button> <button type="button" id="session">Use the session of the dashboard</button></form>
<p><output id="who">Log in to try operations out. Services paste their API key at “Authorize”.</output> <button type="button" id="leave" hidden>Log out</button></p>
<div id="swagger"><noscript>This page needs JavaScript. The document itself is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</noscript></div>
<p id="unbuilt" hidden>The files of this page are not there. Run <code>npm run build</code>, and start the service again. The document itself is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
<script src="${ASSETS}/swagger-ui-bundle.js"></script>`
  const head = `<link rel="stylesheet" href="${ASSETS}/swagger-ui.css">`
  return page(escaped(`Fleet API ${version}`), body, { script: DOCS_SCRIPT, head })
}

/** Allows Swagger UI's own files, requests to this service, and the `data:` icons in Swagger UI's style sheet. */
export const docsHeaders = () =>
  pageHeaders({ script: DOCS_SCRIPT, scriptFiles: true, styleFiles: true, images: 'data:' })

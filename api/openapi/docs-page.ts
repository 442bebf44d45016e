// The page at /docs shows the OpenAPI document and sends requests. It loads nothing from elsewhere.
import { TAGS } from '../../schemas/operation.ts'
import { problemPath, REFUSAL_CODES } from '../../schemas/refusals.ts'
import { DOCS_SCRIPT } from './docs-script.ts'
import type { OpenApi, OpenApiOperation, OpenApiParameter, OpenApiResponse } from './document.ts'
import { escaped, page } from './html-page.ts'

interface Entry {
  readonly method: string
  readonly path: string
  readonly operation: OpenApiOperation
}

export function docsPage({ info, paths, components }: OpenApi): string {
  const entries = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
  const sections = Object.entries(TAGS).map(([tag, about]) => {
    const found = entries.filter(({ operation }) => operation.tags.includes(tag))
    const parts = found.map((entry) => entryPart(entry, components.responses))
    return `<h2>${tag}</h2><p>${escaped(about)}</p>${parts.join('')}`
  })
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
  )
  const body = `<p><a href="/api/v1/openapi.json">OpenAPI 3.1</a> · <a href="/problems">Problems</a></p>
<div class="about">${markdown(info.description)}</div>
<p><label>Find <input id="find" type="search"></label> <label>Token <input id="token" type="password" autocomplete="off" placeholder="access token or API key"></label></p>
${sections.join('')}<h2>Schemas</h2>${schemas.join('')}`
  return page(`${info.title} API ${info.version}`, body, DOCS_SCRIPT)
}

type Shared = OpenApi['components']['responses']

function entryPart({ method, path, operation }: Entry, shared: Shared): string {
  const { operationId: id, summary, description } = operation
  const roles = operation['x-roles']?.join(', ') ?? 'anyone'
  const words = escaped(`${method} ${path} ${id} ${summary}`.toLowerCase())
  const parameters = operation.parameters ?? []
  return `<details class="operation" id="${id}" data-words="${words}"><summary><span class="m">${method}</span><code>${escaped(path)}</code> ${escaped(summary)}</summary>
<div class="inside">${description === undefined ? '' : markdown(description)}<p>For: ${roles}</p>
${parametersPart(parameters)}${bodyPart(operation)}${responsesPart(operation, shared)}${tryPart({ method, path, operation })}</div></details>`
}

function parametersPart(parameters: readonly OpenApiParameter[]): string {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      `<tr><td><code>${escaped(name)}</code>${required ? ' *' : ''}</td><td>${place}</td><td>${inline(schema)}</td><td>${markdownLine(String(description ?? ''))}</td></tr>`,
  )
  return rows.length === 0 ? '' : `<h3>Parameters</h3><table>${rows.join('')}</table>`
}

function bodyPart({ requestBody }: OpenApiOperation): string {
  if (requestBody === undefined) return ''
  const medias = Object.entries(requestBody.content).map(
    ([type, { schema, example }]) =>
      `<p><code>${type}</code> ${inline(schema)}</p>${example === undefined ? '' : json(example)}`,
  )
  return `<h3>Body${requestBody.required ? '' : ', which may be left out'}</h3>${medias.join('')}`
}

function responsesPart({ responses }: OpenApiOperation, shared: Shared): string {
  const parts = Object.entries(responses).map(([status, response]) => {
    const found = '$ref' in response ? shared[lastOf(response.$ref)] : response
    return found === undefined ? '' : responsePart(status, found)
  })
  return `<h3>Answers</h3>${parts.join('')}`
}

const lastOf = (pointer: string) => pointer.slice(pointer.lastIndexOf('/') + 1)

function responsePart(status: string, { description, headers, content = {} }: OpenApiResponse): string {
  const isProblem = content['application/problem+json'] !== undefined
  const [shown] = Object.values(content)
  const example = isProblem || shown?.example === undefined ? '' : json(shown.example)
  const schema = isProblem || shown === undefined ? '' : inline(shown.schema)
  const names = Object.keys(headers).join(', ')
  return `<p><b>${status}</b> ${linked(markdownLine(description))} ${schema}<br><small>${names}</small></p>${example}`
}

function tryPart({ method, path, operation }: Entry): string {
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const fields = (operation.parameters ?? []).map(
    ({ name, in: place, required, schema }) =>
      `<label>${escaped(name)} ${fieldPart({ name, place, required, isList: schema['type'] === 'array' })}</label> `,
  )
  const body =
    media === undefined
      ? ''
      : `<textarea name="body" rows="6" spellcheck="false" aria-label="body">${escaped(textOf(media.example))}</textarea>`
  return `<h3>Try it</h3><form data-method="${method}" data-path="${escaped(path)}" data-type="${type ?? ''}">${fields.join('')}${body}<p><button>Send</button></p><pre><output></output></pre></form>`
}

interface Field {
  readonly name: string
  readonly place: string
  readonly required: boolean
  readonly isList: boolean
}

/** Lists are entered with a line per value. */
function fieldPart({ name, place, required, isList }: Field): string {
  const attributes = `name="${escaped(name)}" data-in="${place}"${required ? ' required' : ''}`
  return isList ? `<textarea ${attributes} rows="1"></textarea>` : `<input ${attributes}>`
}

function inline(schema: Readonly<Record<string, unknown>>): string {
  const { $ref } = schema
  if (typeof $ref === 'string') {
    const name = lastOf($ref)
    return `<a href="#schema-${name}">${name}</a>`
  }
  return `<code>${escaped(JSON.stringify(schema))}</code>`
}

const textOf = (example: unknown) =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2)

/** Links schemas to each other. */
function json(value: unknown): string {
  const text = escaped(textOf(value))
  return `<pre>${text.replaceAll(/#\/components\/schemas\/(\w+)/g, '<a href="#schema-$1">$1</a>')}</pre>`
}

/** Converts the Markdown that our descriptions use: paragraphs, lists, code and bold. */
function markdown(text: string): string {
  const blocks = text.split('\n\n').map((block) => {
    if (!block.startsWith('- ')) return `<p>${markdownLine(block)}</p>`
    const items = block.split('\n').map((line) => `<li>${markdownLine(line.slice(2))}</li>`)
    return `<ul>${items.join('')}</ul>`
  })
  return blocks.join('')
}

function markdownLine(text: string): string {
  return escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
}

/** Links codes of refusals to their pages. */
function linked(html: string): string {
  return html.replaceAll(/<code>([A-Z_]+)<\/code>/g, (whole, name: string) => {
    const code = REFUSAL_CODES.find((known) => known === name)
    return code === undefined ? whole : `<a href="${problemPath(code)}">${whole}</a>`
  })
}

// The page at /docs/async: the AsyncAPI document in readable form. It has no script.
import type { Json } from '../../schemas/json.ts'
import type { AsyncApi, AsyncChannel, AsyncMessage, AsyncOperation } from './asyncapi.ts'
import type { JsonSchema } from './components.ts'
import { escaped, page } from './html-page.ts'
import { markdownHtml, markdownLine } from './markdown.ts'

export function asyncPage(document: AsyncApi): string {
  const { info, operations, components } = document
  const parts = Object.entries(operations).map(([id, operation]) => ({ id, operation }))
  const topics = (action: AsyncOperation['action']) =>
    parts
      .filter(({ operation }) => operation.action === action && operation.bindings !== undefined)
      .map(({ id, operation }) => topicPart(document, id, operation))
      .join('')
  const frames = (action: AsyncOperation['action']) =>
    parts
      .filter(({ operation }) => operation.action === action && operation.bindings === undefined)
      .flatMap(({ operation }) => operation.messages.map(({ $ref }) => messagePart(document, lastOf($ref))))
      .join('')
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
  )
  const body = `<p><a href="/docs">REST</a> · <a href="/docs/devices">Writing a device</a> · <a href="/api/v1/asyncapi.json">AsyncAPI 3</a></p>
${markdownHtml(info.description)}
<h2 id="publish">What a device publishes</h2>${topics('receive')}
<h2 id="get">What a device is sent</h2>${topics('send')}
<h2 id="ask">What a client of /ws sends</h2>${frames('receive')}
<h2 id="tell">What /ws sends</h2>${frames('send')}
<h2 id="schemas">Schemas</h2>${schemas.join('')}`
  return page(`${info.title} ${info.version}`, body)
}

function topicPart(document: AsyncApi, id: string, { channel, messages, bindings }: AsyncOperation): string {
  const found = channelOf(document, channel.$ref)
  const { qos = 1, retain = false } = bindings?.mqtt ?? {}
  const parts = messages.map(({ $ref }) => messageBody(document, lastOf($ref)))
  return `<details id="${id}"><summary><code>${escaped(found.address)}</code> ${markdownLine(found.summary)}</summary>
<div class="inside"><p>QoS ${qos}, ${retain ? 'retained' : 'not retained'}</p>${parts.join('')}</div></details>`
}

function messagePart(document: AsyncApi, name: string): string {
  const { summary } = messageOf(document, name)
  return `<details id="${name}"><summary>${markdownLine(summary)}</summary><div class="inside">${messageBody(document, name)}</div></details>`
}

function messageBody(document: AsyncApi, name: string): string {
  const { payload, examples = [] } = messageOf(document, name)
  const shown = examples.map(({ payload: example }) => json(example))
  return `<p>${schemaLink(payload)}</p>${shown.join('')}`
}

function schemaLink(schema: JsonSchema): string {
  const { $ref, description } = schema
  if (typeof $ref === 'string') return `<a href="#schema-${lastOf($ref)}">${lastOf($ref)}</a>`
  return markdownLine(typeof description === 'string' ? description : JSON.stringify(schema))
}

const lastOf = (pointer: string) => pointer.slice(pointer.lastIndexOf('/') + 1)

function channelOf({ channels }: AsyncApi, pointer: string): AsyncChannel {
  return channels[lastOf(pointer)] ?? missing(pointer)
}

function messageOf({ components }: AsyncApi, name: string): AsyncMessage {
  return components.messages[name] ?? missing(name)
}

function missing(what: string): never {
  throw new Error(`the AsyncAPI document has no ${what}`)
}

/** Formats JSON, with links between schemas. */
function json(value: Json | JsonSchema): string {
  const text = escaped(JSON.stringify(value, null, 2))
  return `<pre>${text.replaceAll(/#\/components\/schemas\/(\w+)/g, '<a href="#schema-$1">$1</a>')}</pre>`
}

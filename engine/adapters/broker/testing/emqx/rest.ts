// For tests: the part of EMQX's REST API that the adapter calls, with the answers of version 5.8.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

interface ListedClient {
  readonly clientId: string
  readonly attributes: Readonly<Record<string, string>>
}

export interface RestSubject {
  clients(): readonly ListedClient[]
  kick(clientId: string): Promise<boolean>
  /** Returns the end of an earlier ban, which stays as it is. */
  ban(clientId: string): Promise<number | undefined>
  unban(clientId: string): boolean
  subscriptions(clientId: string): readonly { readonly topic: string; readonly qos: number }[] | undefined
}

type Answer = readonly [code: number, body?: unknown]

const ROUTE = /^\/api\/v5\/(clients|banned)(?:\/(?:clientid\/)?([^/]+))?(\/subscriptions)?$/
const NOT_FOUND: Answer = [404, { code: 'CLIENTID_NOT_FOUND', message: 'Client ID not found' }]

export class EmqxRest {
  readonly #subject: RestSubject
  readonly #server: Server
  readonly #key = 'fleet'
  readonly #secret = 'rest-secret'

  constructor(subject: RestSubject) {
    this.#subject = subject
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  get access() {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    return { url: `http://127.0.0.1:${address.port}`, key: this.#key, secret: this.#secret }
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = Buffer.from(`${this.#key}:${this.#secret}`).toString('base64')
    const isKnown = request.headers.authorization === `Basic ${token}`
    const [code, body] = isKnown ? await this.#answer(request) : [401, { code: 'BAD_API_KEY_OR_SECRET' }]
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname: path, searchParams } = new URL(request.url ?? '/', 'http://emqx')
    const [, what, name = '', more] = ROUTE.exec(path) ?? []
    const clientId = decodeURIComponent(name)
    switch (`${request.method} ${what}${more ?? ''}`) {
      case 'DELETE clients':
        return (await this.#subject.kick(clientId)) ? [204] : NOT_FOUND
      case 'GET clients': {
        const listed = ({ clientId: clientid, attributes }: ListedClient) => ({
          clientid,
          client_attrs: attributes,
        })
        if (name !== '') {
          const client = this.#subject.clients().find((each) => each.clientId === clientId)
          return client === undefined ? NOT_FOUND : [200, listed(client)]
        }
        const [page, limit] = ['page', 'limit'].map((which) => Number(searchParams.get(which)))
        if (!page || !limit) return [400, { code: 'BAD_REQUEST' }]
        const all = this.#subject.clients().map(listed)
        const data = all.slice((page - 1) * limit, page * limit)
        return [200, { data, meta: { page, limit, hasnext: all.length > page * limit } }]
      }
      case 'GET clients/subscriptions': {
        const subscriptions = this.#subject.subscriptions(clientId)
        return subscriptions === undefined ? NOT_FOUND : [200, subscriptions]
      }
      case 'POST banned': {
        const { as, who } = await bodyOf(request)
        if (as !== 'clientid' || typeof who !== 'string') return [400, { code: 'BAD_REQUEST' }]
        const earlier = await this.#subject.ban(who)
        if (earlier === undefined) return [200, { as, who, until: 'infinity' }]
        const until = earlier === Number.POSITIVE_INFINITY ? 'infinity' : new Date(earlier).toISOString()
        return [400, { code: 'ALREADY_EXISTS', message: JSON.stringify({ as, who, until }) }]
      }
      case 'DELETE banned':
        return this.#subject.unban(clientId) ? [204] : [404, { code: 'NOT_FOUND' }]
      default:
        return [404, { code: 'NOT_FOUND' }]
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  // Bodies come from the adapter and its tests only.
  return JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>
}

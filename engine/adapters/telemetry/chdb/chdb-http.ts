// The part of ClickHouse's HTTP interface that the adapter's client uses, in front of chdb. There is no other client:
// the port and the password are random, and only the parent process knows them.

import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { errorText } from '../../../../schemas/error-text.ts'
import type { Chdb } from './chdb-connections.ts'
import type { RowsServer } from './chdb-rows.ts'
import { toFileInsert, toUrlInsert } from './chdb-statement.ts'
import type { Spool } from './spool.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface ChdbPorts {
  readonly chdb: Chdb
  readonly spool: Spool
  readonly rows: RowsServer
}

/** URL parameters that are neither settings nor parameters of the statement. */
const OTHER_PARAMETERS = new Set(['query', 'query_id', 'wait_end_of_query'])

export function chdbListener(ports: ChdbPorts, { username, password }: Credentials): RequestListener {
  const expected = Buffer.from(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
  return (request, response) => {
    if (request.url === '/ping') {
      response.end()
      return
    }
    const given = Buffer.from(request.headers.authorization ?? '')
    const isAllowed = given.length === expected.length && timingSafeEqual(given, expected)
    if (isAllowed) answer(ports, request, response).catch((cause) => sendError(request, response, cause))
    else
      sendError(request, response, 'Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)')
  }
}

async function answer(
  { chdb, spool, rows }: ChdbPorts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const values = new Map([...searchParams].filter(([name]) => !OTHER_PARAMETERS.has(name)))
  const query = searchParams.get('query')
  const insert = query === null ? undefined : toFileInsert(query)
  if (insert !== undefined) {
    const file = spool.file()
    try {
      for await (const chunk of request) file.write(chunk)
      file.end()
      response.end(await chdb.run({ statement: insert(file.path), values, isInsert: true }))
    } finally {
      file.remove()
    }
    return
  }
  const statement = query ?? Buffer.concat(await request.toArray()).toString()
  const job = { statement, values, isInsert: /^\s*INSERT\b/i.test(statement) }
  if (searchParams.get('wait_end_of_query') === '0') {
    const settings = new Map([...values, ['http_max_tries', '1']])
    const isSent = await rows.answer(response, (url) =>
      chdb.stream({ ...job, statement: toUrlInsert(statement, url), values: settings }),
    )
    // Without rows, the format still decides what an empty result looks like.
    if (isSent) return
  }
  response.end(await chdb.run(job))
}

function sendError(request: IncomingMessage, response: ServerResponse, cause: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  // The rest of a body that was not read to its end would be taken for the next request.
  response.writeHead(500, request.complete ? {} : { Connection: 'close' })
  response.end(errorText(cause))
}

// Addresses at which a browser downloads a file once: path and query of a GET, with a ticket at the end.
import type { Operation } from '../../schemas/operation.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { pathOf } from './problems.ts'
import { isPathOf } from './route-match.ts'

const FILE_OPERATIONS = Object.values(OPERATIONS).filter(
  (operation: Operation) => operation.method === 'GET' && operation.files !== undefined,
)
const TICKET = 'ticket='

/** `address` is a path with a query. */
export const isFileAddress = (address: string): boolean =>
  FILE_OPERATIONS.some((operation) => isPathOf(operation, pathOf(address)))

/** The address as a browser requests it. Browsers encode some characters, and do not send what follows `#`. */
export function asRequested(address: string): string {
  const { pathname, search } = new URL(address, 'http://localhost')
  return `${pathname}${search}`
}

export const withTicket = (address: string, ticket: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}${TICKET}${ticket}`

export function splitTicket(address: string): {
  readonly path: string
  readonly ticket: string | undefined
} {
  const at = Math.max(address.lastIndexOf(`?${TICKET}`), address.lastIndexOf(`&${TICKET}`))
  return at < 0
    ? { path: address, ticket: undefined }
    : { path: address.slice(0, at), ticket: address.slice(at + 1 + TICKET.length) }
}

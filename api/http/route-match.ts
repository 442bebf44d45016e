// Matches paths against the route table: which methods a path has, and other ways to write the same path.
import { API, type Operation } from '../../schemas/operation.ts'

/** The part of a route that decides which requests it takes. */
export interface RoutePath {
  readonly method: string
  /** The path, with `{name}` for parameters. */
  readonly path: string
}

/** The path of a route as operations write it. */
export const toPattern = (url: string): string => url.replace(/:(\w+)/g, '{$1}')

/** Empty if no route has this path. HEAD is included wherever GET is. */
export function allowedMethods(routes: readonly RoutePath[], path: string): readonly string[] {
  const levels = path.split('/')
  const methods = routes.filter((route) => isMatch(route.path.split('/'), levels)).map(({ method }) => method)
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
}

/** Whether this path, without a query, matches the pattern of an operation. */
export const isPathOf = ({ path: pattern }: Operation, path: string): boolean =>
  isMatch(pattern.split('/'), path.split('/'))

function isMatch(pattern: readonly string[], levels: readonly string[]): boolean {
  return (
    pattern.length === levels.length &&
    pattern.every((level, i) => (level.startsWith('{') ? levels[i] !== '' : level === levels[i]))
  )
}

const ENCODED = '%24broadcast'

/** Undoes the percent-encoding of the `$` in `$broadcast`, and drops a trailing slash. */
export function plainUrl(url: string): string {
  const plain = url.startsWith(`${API}/`) ? url.replace(/^([^?]*[^/?])\/(?=\?|$)/, '$1') : url
  return plain.startsWith(`${API}/commands/${ENCODED}`) ? plain.replace(ENCODED, () => '$broadcast') : plain
}

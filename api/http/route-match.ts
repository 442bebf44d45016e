// Which methods a path has, for answers to those it has not.
import type { RouteSpec } from './route.ts'

/** Empty if no route has this path. HEAD comes with GET. */
export function allowedMethods(routes: readonly RouteSpec[], path: string): readonly string[] {
  const levels = path.split('/')
  const methods = routes.filter((route) => isMatch(route.path.split('/'), levels)).map(({ method }) => method)
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
}

function isMatch(pattern: readonly string[], levels: readonly string[]): boolean {
  return (
    pattern.length === levels.length &&
    pattern.every((level, i) => (level.startsWith('{') ? levels[i] !== '' : level === levels[i]))
  )
}

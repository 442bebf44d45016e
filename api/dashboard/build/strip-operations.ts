// The typed client needs of an operation only where it is, who may call it and how its answer is read. Their schemas
// would bring a whole validator into the browser, ten times as much code as the client itself.
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'vite'

/** The table of all of them, which is how the client knows them. */
const TABLE = /schemas\/operations\/all\.ts$/
const KEPT = ['method', 'path', 'operationId', 'access', 'bodyTypes', 'repeats', 'streamsBody'] as const

/** `root` is the project's folder, in which the compiler has built `dist/`. */
export function strippedOperations(root: string): Plugin {
  return {
    name: 'fleet-strip-operations',
    enforce: 'pre',
    async load(id) {
      const [path = ''] = id.split('?')
      if (!TABLE.test(path)) return null
      const built = pathToFileURL(`${root}/dist/${relative(root, path).replace(/\.ts$/, '.js')}`)
      // The file exports the table and nothing else.
      const { OPERATIONS } = (await import(built.href)) as {
        readonly OPERATIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>>
      }
      const entries = Object.entries(OPERATIONS).map(([name, operation]) => [name, stripped(operation)])
      return `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(entries))}`
    },
  }
}

function stripped(operation: Readonly<Record<string, unknown>>) {
  const kept = KEPT.flatMap((name) => (operation[name] === undefined ? [] : [[name, operation[name]]]))
  const replies = Object.entries(Object(operation['replies'])).map(([status, reply]) => {
    return [status, typeof reply === 'string' ? reply : {}]
  })
  return { ...Object.fromEntries(kept), replies: Object.fromEntries(replies) }
}

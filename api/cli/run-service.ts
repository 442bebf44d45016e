// Runs the service's program in this process, so that it receives signals and sets the exit code itself.
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

export async function runService(args: readonly string[]): Promise<void> {
  const main = new URL('dist/api/service/main.js', ROOT)
  process.argv.splice(1, process.argv.length, fileURLToPath(main), ...args)
  await import(main.href)
}

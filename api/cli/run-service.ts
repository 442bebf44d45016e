// The service's own program, in this process: signals and the exit code are its own, with nobody in between.
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

export async function runService(args: readonly string[]): Promise<void> {
  const main = new URL('dist/api/service/main.js', ROOT)
  process.argv.splice(1, process.argv.length, fileURLToPath(main), ...args)
  await import(main.href)
}

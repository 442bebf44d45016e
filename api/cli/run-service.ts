// Runs the service's program in this process, so that it receives signals and sets the exit code itself.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../root.ts'

export async function runService(args: readonly string[]): Promise<void> {
  // A packed release may not have the service's packages yet. Its start script installs them.
  const isPacked = existsSync(new URL('dist/.fleet-release', ROOT))
  const main = new URL(isPacked ? 'deploy/dev/start.mjs' : 'dist/program/service.js', ROOT)
  process.argv.splice(1, process.argv.length, fileURLToPath(main), ...args)
  await import(main.href)
}

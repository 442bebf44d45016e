import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Installs and builds what is stale, then runs a built file as if it had been started directly. */
export async function runBuilt(file, options) {
  const { prepare, ROOT } = await import('./prepare.mjs')
  try {
    await prepare(options)
  } catch (error) {
    process.stderr.write(`fleet: ${error.message}\n`)
    process.exit(1)
  }
  // The program runs in this process, so it handles signals and sets the exit code itself.
  const main = resolve(ROOT, file)
  process.argv[1] = main
  await import(pathToFileURL(main).href)
}

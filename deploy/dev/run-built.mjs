import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Sets up what is missing, then runs a built file as if it had been called itself. */
export async function runBuilt(file) {
  const { prepare, ROOT } = await import('./prepare.mjs')
  try {
    await prepare()
  } catch (error) {
    process.stderr.write(`fleet: ${error.message}\n`)
    process.exit(1)
  }
  // In this process: signals and the exit code are the program's own, with nobody in between.
  const main = resolve(ROOT, file)
  process.argv[1] = main
  await import(pathToFileURL(main).href)
}

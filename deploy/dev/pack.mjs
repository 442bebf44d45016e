// Before and after `npm pack`: a release carries the built program and the exact versions of its packages, so that
// whoever installs it needs neither a compiler nor the packages of development. What other projects import has types.
import './node-version.mjs'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { prepare, RELEASE_MARK, ROOT } = await import('./prepare.mjs')
const { run } = await import('./run-child.mjs')
const mark = join(ROOT, RELEASE_MARK)
// npm leaves package-lock.json out of a package, and takes this name for it.
const shrinkwrap = join(ROOT, 'npm-shrinkwrap.json')

rmSync(mark, { force: true })
rmSync(shrinkwrap, { force: true })
if (!process.argv.includes('--undo')) {
  await prepare()
  await declareTypes()
  copyFileSync(join(ROOT, 'package-lock.json'), shrinkwrap)
  writeFileSync(mark, '')
}

/** The types of what other projects import: the device library and the client. */
async function declareTypes() {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const code = await run(
    process.execPath,
    [compiler, '-p', join(ROOT, 'deploy', 'dev', 'declarations.json')],
    {
      cwd: ROOT,
    },
  )
  if (code !== 0)
    throw new Error(`the types of fleet/device and fleet/client cannot be written: tsc ended with ${code}`)
}

// Before and after `npm pack`: a release carries the built program and the exact versions of its packages, so that
// whoever installs it needs neither a compiler nor the packages of development.
import './node-version.mjs'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { prepare, RELEASE_MARK, ROOT } = await import('./prepare.mjs')
const mark = join(ROOT, RELEASE_MARK)
// npm leaves package-lock.json out of a package, and takes this name for it.
const shrinkwrap = join(ROOT, 'npm-shrinkwrap.json')

rmSync(mark, { force: true })
rmSync(shrinkwrap, { force: true })
if (!process.argv.includes('--undo')) {
  await prepare()
  copyFileSync(join(ROOT, 'package-lock.json'), shrinkwrap)
  writeFileSync(mark, '')
}

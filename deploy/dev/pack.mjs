// Runs before and after `npm pack`. A release contains the built program, so that installing it needs no compiler. As a
// dependency it installs only what the device library, the client and the command line import, because a device must not
// load the 700 MB of the service. Those packages are installed into `dist/` when the service is first started there.
import './node-version.mjs'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { prepare, RELEASE_MARK, ROOT } = await import('./prepare.mjs')
const { run } = await import('./run-child.mjs')

/** The packages imported by `fleet/device`, `fleet/client` and the command line. */
const EDGE_PACKAGES = ['commander', 'mqtt', 'typebox', 'ws', 'yaml']

const manifest = join(ROOT, 'package.json')
const mark = join(ROOT, RELEASE_MARK)
const service = {
  // The repository's `package.json`, kept here while packing.
  kept: join(ROOT, 'dist', 'package.whole.json'),
  manifest: join(ROOT, 'dist', 'package.json'),
  // npm does not pack package-lock.json, but it packs and uses a file of this name.
  lock: join(ROOT, 'dist', 'npm-shrinkwrap.json'),
}

undo()
if (!process.argv.includes('--undo')) {
  await prepare()
  await declareTypes()
  const whole = readFileSync(manifest, 'utf8')
  describeService(JSON.parse(whole))
  writeFileSync(service.kept, whole)
  replace(manifest, edgeManifest(JSON.parse(whole)))
  writeFileSync(mark, '')
}

/** Also cleans up after an `npm pack` that was killed. */
function undo() {
  for (const path of [mark, service.manifest, service.lock]) rmSync(path, { force: true })
  if (!existsSync(service.kept)) return
  const isPacked = !('devDependencies' in JSON.parse(readFileSync(manifest, 'utf8')))
  if (isPacked) renameSync(service.kept, manifest)
  else rmSync(service.kept)
}

function edgeManifest({ devDependencies: _, allowScripts: __, dependencies, ...rest }) {
  return {
    ...rest,
    dependencies: Object.fromEntries(EDGE_PACKAGES.map((name) => [name, dependencies[name]])),
  }
}

/** The packages of the service with their exact versions, for `npm ci` in `dist/`. */
function describeService({ name, version, license, dependencies, allowScripts }) {
  const described = { name, version, license, private: true, type: 'module', allowScripts, dependencies }
  writeFileSync(service.manifest, toJson(described))
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true)
  const root = { name, version, license, dependencies }
  writeFileSync(service.lock, toJson({ ...lock, packages: { '': root, ...Object.fromEntries(packages) } }))
}

/** Replaces a file atomically, so that no reader sees half of it. */
function replace(path, content) {
  writeFileSync(`${path}.new`, toJson(content))
  renameSync(`${path}.new`, path)
}

function toJson(content) {
  return `${JSON.stringify(content, undefined, 2)}\n`
}

/** Emits the types of what other projects import: the device library and the client. */
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

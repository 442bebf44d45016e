// Prepares a start or a test run: installs packages and builds `dist/`, each only if stale. It imports no packages, because
// none may be installed yet, and prints only to stderr, because stdout belongs to the service.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildDocs } from './docs.mjs'
import { acquireLock } from './lock.mjs'
import { run } from './run-child.mjs'

/** This file exists in `dist/` only if the program comes from a packed release (pack.mjs). */
export const RELEASE_MARK = 'dist/.fleet-release'
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Resolves once everything is ready. Throws an Error whose message is for the user. In a packed release, the packages of
 * the service are installed only if `needs`, a package that the caller imports, is missing.
 */
export async function prepare({
  root = ROOT,
  needs = 'fastify',
  install = installPackages,
  build = compile,
  say = sayOnStderr,
} = {}) {
  const isPacked = existsSync(join(root, RELEASE_MARK))
  if (isPacked ? isThere(needs, root) : isInstalled(root) && isBuilt(root)) return
  const release = await acquireLock(join(root, 'dist', '.prepare.lock'), () =>
    say('waiting for another installation or build'),
  )
  try {
    // A packed release is already built: it needs no development packages, and lists those of the service in dist/.
    if (isPacked) await install(join(root, 'dist'), say, [])
    else if (!isInstalled(root)) await step(root, installStamp, install, say)
    if (!isPacked && !isBuilt(root)) await step(root, buildStamp, build, say)
  } finally {
    release()
  }
}

function sayOnStderr(text) {
  process.stderr.write(`fleet: ${text}\n`)
}

// The stamp is computed before the work, so a change made meanwhile counts as stale the next time.
async function step(root, stampOf, work, say) {
  const { path, content } = stampOf(root)
  rmSync(path, { force: true })
  await work(root, say)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

// --- packages

function installStamp(root) {
  const lock = readFileSync(join(root, 'package-lock.json'))
  const content = `${process.platform}-${process.arch} ${createHash('sha256').update(lock).digest('hex')}\n`
  return { path: join(root, 'node_modules', '.fleet-installed'), content }
}

function isInstalled(root) {
  const { path, content } = installStamp(root)
  if (existsSync(path)) return readFileSync(path, 'utf8') === content
  if (!isInstalledByHand(root)) return false
  writeFileSync(path, content)
  return true
}

/** npm records what it installed, so a plain `npm install` is recognised and not repeated. */
function isInstalledByHand(root) {
  const path = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(path)) return false
  const present = JSON.parse(readFileSync(path, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional || present[name]?.version === version,
  )
}

/** True if built files can import the package: from dist/, or from where npm put it in a project that uses the release. */
function isThere(name, root) {
  try {
    createRequire(join(root, 'dist', 'package.json')).resolve(name)
    return true
  } catch {
    return false
  }
}

// The compiler is a development dependency, which NODE_ENV=production must not leave out.
async function installPackages(root, say, which = ['--include=dev']) {
  const folder = join(root, 'node_modules')
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      `${folder} is a link, and npm ci would empty the folder behind it: install the packages there, or remove the link`,
    )
  say('installing packages (about 700 MB, most of it the ClickHouse engine)')
  const args = ['ci', ...which, '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath
  const code = npm?.endsWith('.js')
    ? await run(process.execPath, [npm, ...args], { cwd: root })
    : await run('npm', args, { cwd: root, shell: process.platform === 'win32' })
  if (code === 0) return dropForeignBinaries(root)
  throw new Error(
    `npm ci failed (exit code ${code}), see above. If it could not reach the package registry: only the first ` +
      'start needs it; check the network and `npm config get registry`, then run the same command again',
  )
}

/** Removes the binaries of uWebSockets.js for other platforms (130 MB in all), which are never loaded. */
function dropForeignBinaries(root) {
  const folder = join(root, 'node_modules', 'uWebSockets.js', 'dist', 'bin')
  if (!existsSync(folder)) return
  const foreign = readdirSync(folder).filter(
    (name) => !name.startsWith(`uws_${process.platform}_${process.arch}_`),
  )
  for (const name of foreign) rmSync(join(folder, name))
}

// --- dist

function buildStamp(root) {
  const hash = createHash('sha256').update(installStamp(root).content)
  for (const path of sourceFiles(root)) {
    const { mtimeMs, size } = statSync(path)
    hash.update(`${relative(root, path)} ${mtimeMs} ${size}\n`)
  }
  return { path: join(root, 'dist', '.fleet-built'), content: `${hash.digest('hex')}\n` }
}

function isBuilt(root) {
  const { path, content } = buildStamp(root)
  return existsSync(path) && readFileSync(path, 'utf8') === content
}

function sourceFiles(root) {
  const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  const found = include
    .flatMap((name) => walk(join(root, name)))
    .filter((path) => /\.(tsx?|css|svg|html)$|DEVICES\.md$/.test(path))
  return [join(root, 'tsconfig.json'), ...found.sort()]
}

function walk(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).flatMap((name) => walk(join(path, name)))
}

async function compile(root, say) {
  say('building')
  // The last build may not have finished, so the compiler's cache is not trusted.
  rmSync(join(root, 'dist', '.tsbuildinfo'), { force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const code = await run(process.execPath, [tsc, '-p', '.'], { cwd: root })
  if (code !== 0) throw new Error('the build failed, see above')
  dropOrphans(root)
  await joinModules(root)
  await buildDashboard(root)
  if (existsSync(join(root, 'api', 'DEVICES.md'))) await buildDocs(root)
  noteCommit(root)
}

async function joinModules(root) {
  const script = join(root, 'deploy', 'dev', 'join-modules.mjs')
  const code = await run(process.execPath, [script], { cwd: root })
  if (code !== 0) throw new Error('the compiled modules cannot be joined, see above')
}

/** Must run after the compiler, because the build imports the compiled operations. */
async function buildDashboard(root) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const config = join(root, 'api', 'dashboard', 'build', 'vite.config.ts')
  if (!existsSync(config)) return
  const args = ['build', '--config', config, '--logLevel', 'warn']
  const code = await run(process.execPath, [vite, ...args], { cwd: root })
  if (code !== 0) throw new Error('the build of the dashboard failed, see above')
}

/** Records the commit of this build, which the service reports. Without git the file is not written. */
function noteCommit(root) {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  })
  const path = join(root, 'dist', 'commit')
  if (status === 0) writeFileSync(path, stdout)
  else rmSync(path, { force: true })
}

/** Removes output whose source no longer exists. It would still load here, but be missing in a fresh clone. */
function dropOrphans(root) {
  const dist = join(root, 'dist')
  for (const path of walk(dist)) {
    const source = join(root, relative(dist, path)).replace(/\.js(\.map)?$/, '.ts')
    if (/\.js(\.map)?$/.test(path) && !existsSync(source)) rmSync(path)
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ROOT } from './prepare.mjs'

const MAIN = `
process.once('SIGTERM', () => process.exit(Number(process.argv[3])))
setInterval(() => {}, 60_000)
process.stdout.write(JSON.stringify({ args: process.argv.slice(2) }))
`

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fleet-start-'))
  for (const name of ['deploy', 'package.json', 'package-lock.json']) {
    cpSync(join(ROOT, name), join(root, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const compilerOptions = { outDir: 'dist', rootDir: '.', module: 'nodenext', types: ['node'] }
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['api', 'engine'] }))
  source('api/service/main.ts', MAIN)
  for (const other of [
    'api/cli/main.ts',
    'engine/runtime/runner/shard-thread.ts',
    'engine/adapters/telemetry/chdb/chdb-server.ts',
  ])
    source(other, 'export {}\n')
})
afterEach(() => {
  npm.kill('SIGTERM')
  rmSync(root, { recursive: true })
})

function source(path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

let npm
function npmStart(...args) {
  npm = spawn('npm', ['start', '--silent', '--', ...args], { cwd: root, stdio: 'pipe' })
}

test.each([0, 7])('SIGTERM to npm reaches the service, and npm exits with its exit code %i', async (code) => {
  npmStart('--exit', String(code))
  const ended = once(npm, 'exit')
  const said = text(npm.stderr)
  const ready = await Promise.race([once(npm.stdout, 'data'), ended])
  npm.kill('SIGTERM')
  const [exitCode] = await ended
  expect(exitCode, await said).toBe(code)
  expect(JSON.parse(String(ready[0]))).toEqual({ args: ['--exit', String(code)] })
})

test('a source that does not compile ends the start with a line on stderr and nothing on stdout', async () => {
  source('api/service/main.ts', 'const x: number = ""\n')
  npmStart()
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(npm.stdout),
    text(npm.stderr),
    once(npm, 'exit'),
  ])
  expect(exitCode).toBe(1)
  expect(stderr).toContain('fleet: the build failed, see above')
  expect(stdout).toBe('')
})

// `npm test`: set-up and type check, lint, then every test. `--project unit` and file names narrow the tests down.
import './node-version.mjs'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { prepare, ROOT } = await import('./prepare.mjs')
const { run } = await import('./run-child.mjs')
const { findServers, serverEnvironment } = await import('./servers.mjs')

const bin = (...path) => join(ROOT, 'node_modules', ...path)
const say = (text) => process.stdout.write(`${text}\n`)

try {
  await prepare()
} catch (error) {
  process.stderr.write(`fleet: ${error.message}\n`)
  process.exit(1)
}

const servers = await findServers()
for (const { name, path, missing } of servers) say(`server ${name}: ${path ?? `skipped, ${missing}`}`)
const lintCode = await lint()
const { testCode, closingLine } = await test(process.argv.slice(2))
say(`\nlint ${lintCode === 0 ? 'passed' : 'failed'}\n${closingLine}`)
const isServerLacking = servers.some(({ fatal }) => fatal)
process.exit(lintCode !== 0 || testCode !== 0 || isServerLacking ? 1 : 0)

function lint() {
  return run(process.execPath, [bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings'], {
    cwd: ROOT,
    stdout: 1,
  })
}

async function test(args) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-test-'))
  const report = join(folder, 'report.json')
  const options = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args]
  const testCode = await run(process.execPath, [bin('vitest', 'vitest.mjs'), ...options], {
    cwd: ROOT,
    stdout: 1,
    env: { ...process.env, ...serverEnvironment(servers) },
  })
  const closingLine = summarise(report)
  rmSync(folder, { recursive: true })
  return { testCode, closingLine }
}

function summarise(path) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'))
    // A file that cannot be loaded has no tests to fail; it counts as one.
    const unloaded = report.testResults.filter(({ status, assertionResults }) => {
      return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
    }).length
    const skipped = report.numPendingTests + report.numTodoTests
    return `${report.numPassedTests} passed, ${report.numFailedTests + unloaded} failed, ${skipped} skipped`
  } catch (error) {
    return `the tests ended without a result: ${error.message}`
  }
}

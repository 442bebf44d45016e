// `npm test`: installs and builds what is stale, which includes the type check, then runs the linter and all tests.
// `--project unit` (`npm run check`) and file names select some of the tests.
import './node-version.mjs'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { prepare, ROOT } = await import('./prepare.mjs')
const { run } = await import('./run-child.mjs')
const { findServersFor, serverEnvironment } = await import('./servers.mjs')

const bin = (...path) => join(ROOT, 'node_modules', ...path)
const say = (text) => process.stdout.write(`${text}\n`)

try {
  await prepare()
} catch (error) {
  process.stderr.write(`fleet: ${error.message}\n`)
  process.exit(1)
}

const args = process.argv.slice(2)
const servers = await findServersFor(args)
for (const { name, path, missing } of servers) say(`server ${name}: ${path ?? `skipped, ${missing}`}`)
if (servers.length > 0)
  say(`server EMQX: ${process.env.TEST_EMQX_HOME ?? 'a stand-in, TEST_EMQX_HOME names no installed EMQX'}`)
const [typesCode, lintCode] = await Promise.all([checkDashboardTypes(), lint()])
const { testCode, closingLine } = await test()
const word = (code) => (code === 0 ? 'passed' : 'failed')
say(`\ntypes of the dashboard ${word(typesCode)}\nlint ${word(lintCode)}\n${closingLine}`)
const isServerLacking = servers.some(({ fatal }) => fatal)
process.exit(typesCode !== 0 || lintCode !== 0 || testCode !== 0 || isServerLacking ? 1 : 0)

/** Preparation type-checks all other sources by compiling them. The dashboard's types are only stripped, not checked. */
function checkDashboardTypes() {
  const config = join(ROOT, 'api', 'dashboard', 'app')
  return run(process.execPath, [bin('typescript', 'bin', 'tsc'), '--noEmit', '-p', config], {
    cwd: ROOT,
    stdout: 1,
  })
}

function lint() {
  return run(process.execPath, [bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings'], {
    cwd: ROOT,
    stdout: 1,
  })
}

async function test() {
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
    // A test file that cannot be loaded has no failing tests of its own, so it counts as one failure.
    const unloaded = report.testResults.filter(({ status, assertionResults }) => {
      return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
    }).length
    const skipped = report.numPendingTests + report.numTodoTests
    return `${report.numPassedTests} passed, ${report.numFailedTests + unloaded} failed, ${skipped} skipped`
  } catch (error) {
    return `the tests ended without a result: ${error.message}`
  }
}

// The harness for a real EMQX, with a program in place of `bin/emqx`: EMQX itself is at hand on few machines.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { at, parseHocon } from '../../../../../deploy/testing/hocon.ts'
import { until } from '../fake-host.ts'
import { RealEmqx } from './real-emqx.ts'
import { toTestConf } from './test-conf.ts'

/** Lets anybody in for a moment, as EMQX does, and writes down how it was started. */
const PROGRAM = `#!/usr/bin/env node
const { spawn } = require('node:child_process')
const { readFileSync, writeFileSync, existsSync } = require('node:fs')
const { createServer } = require('node:http')
const net = require('node:net')
const { join, dirname } = require('node:path')
const home = dirname(__dirname)
const mode = readFileSync(join(home, 'mode'), 'utf8')
console.log('the mode is ' + mode)
if (mode === 'ends') process.exit(3)
const { BASE_RUNNER_ROOT_DIR: root, ...env } = process.env
const conf = readFileSync(join(root, 'etc/emqx.conf'), 'utf8')
const vm = readFileSync(join(root, 'etc/vm.args'), 'utf8')
const data = env.EMQX_NODE__DATA_DIR
const starts = existsSync(join(data, 'starts')) ? Number(readFileSync(join(data, 'starts'), 'utf8')) + 1 : 1
writeFileSync(join(data, 'starts'), String(starts))
const ports = [...conf.matchAll(/bind = "127\\.0\\.0\\.1:(\\d+)"/g)].map(([, port]) => Number(port))
const sleeper = spawn('sleep', ['600'])
let letIn = 0
async function main() {
  const [, jwks] = /endpoint = "([^"]+)"/.exec(conf)
  const keys = await (await fetch(jwks)).json()
  const see = () => writeFileSync(join(home, 'seen.json'), JSON.stringify({ args: process.argv.slice(2), root, env, conf, vm, keys, ports, starts, letIn, pids: [process.pid, sleeper.pid] }))
  see()
  if (mode === 'silent') return
  createServer((_, response) => response.end('Node is running')).listen(ports[0], '127.0.0.1')
  for (const port of ports.slice(1))
    net.createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', (bytes) => {
        const isStranger = bytes.includes('wrong')
        const isOpen = letIn < 3
        if (isStranger && isOpen) { letIn++; see() }
        socket.write(Buffer.from([0x20, 2, 0, isStranger && !isOpen ? 5 : 0]))
      })
    }).listen(port, '127.0.0.1')
}
main()
setInterval(() => {}, 1000)
`

interface BrokerFacts {
  readonly args: readonly string[]
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly conf: string
  readonly vm: string
  readonly keys: { readonly keys: readonly object[] }
  readonly ports: readonly number[]
  readonly starts: number
  readonly letIn: number
  readonly pids: readonly number[]
}

describe('the harness for EMQX itself', () => {
  let home: string
  let emqx: RealEmqx | undefined

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'fleet-emqx-home-'))
    for (const folder of ['bin', 'etc']) mkdirSync(join(home, folder))
    writeFileSync(join(home, 'bin', 'emqx'), PROGRAM, { mode: 0o755 })
    writeFileSync(join(home, 'etc', 'vm.args'), '-the +installation its\n')
    writeFileSync(join(home, 'etc', 'emqx.conf'), 'of the installation')
  })
  afterEach(async () => {
    await emqx?.stop()
    emqx = undefined
    rmSync(home, { recursive: true })
  })

  async function start(mode: string, startTimeoutMs?: number): Promise<RealEmqx> {
    writeFileSync(join(home, 'mode'), mode)
    emqx = await RealEmqx.start({ home, ...(startTimeoutMs !== undefined && { startTimeoutMs }) })
    return emqx
  }
  // Written by the program above.
  const seen = () => JSON.parse(readFileSync(join(home, 'seen.json'), 'utf8')) as BrokerFacts
  const runs = (pid: number) => {
    try {
      process.kill(pid, 0)
      // One that has ended and that nobody has asked for is still listed.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false
    }
  }
  const allEnd = () => until(() => !seen().pids.some(runs), 'its programs to end')

  test('it runs the configuration of deploy/ with ports, keys and a folder of its own', async () => {
    const { url, devicePort, emqxApi } = await start('good')
    const { args, root, env, conf, vm, keys, ports } = seen()
    expect(args).toEqual(['foreground'])
    expect(ports.map(String)).toEqual([new URL(emqxApi.url).port, String(devicePort), new URL(url).port])
    expect(env).toMatchObject({
      EMQX_NODE__DATA_DIR: join(root, 'data'),
      EMQX_LOG_DIR: join(root, 'log'),
      EMQX_LISTENERS__SSL__DEFAULT__ENABLE: 'false',
    })
    expect(env['EMQX_NODE__NAME']).toMatch(/^fleet[1-9]\d{0,2}@127\.0\.0\.1$/)
    expect(vm).toBe('-the +installation its\n')
    expect(keys.keys).toMatchObject([{ kty: 'RSA', alg: 'RS256' }])
    const parsed = parseHocon(conf)
    expect(Object.keys(Object(at(parsed, 'rule_engine.rules')))).toContain('fleet_uplink')
    expect(at(parsed, 'authorization.no_match')).toBe('deny')
    for (const [file, part] of [
      ['acl.conf', '{deny, all}.'],
      ['services.pem', 'BEGIN PUBLIC KEY'],
      ['api-keys.txt', 'fleet:'],
    ]) {
      expect(conf).toContain(JSON.stringify(join(root, file ?? '')))
      expect(readFileSync(join(root, file ?? ''), 'utf8')).toContain(part)
    }
    expect(readFileSync(join(home, 'etc', 'emqx.conf'), 'utf8')).toBe('of the installation')
  })

  test('it is ready once nobody is let in without a token, and stops with all that it has started', async () => {
    const running = await start('good')
    const { letIn, root } = seen()
    expect(letIn).toBe(3)
    await running.restart()
    await running.kill9()
    await allEnd()
    await running.revive()
    expect(seen().starts).toBe(3)
    await running.forget()
    expect(seen().starts).toBe(1)
    await running.stop()
    await allEnd()
    expect(existsSync(root)).toBe(false)
  })

  test('an EMQX that ends, or is not ready in time, is an error that has what it said', async () => {
    await expect(start('ends')).rejects.toThrow(/ended at its start. It said: the mode is ends/)
    await expect(start('silent', 1_000)).rejects.toThrow(/was not ready after 1 s/)
    rmSync(join(home, 'bin'), { recursive: true })
    await expect(start('good')).rejects.toThrow(/there is no .*bin\/emqx: needs TEST_EMQX_HOME/)
  })

  test('a configuration that has changed is not run half changed', () => {
    const files = { acl: 'a', apiKeys: 'b', serviceKey: 'c' }
    expect(() => toTestConf('', { ports: { devices: 1, services: 2, rest: 3 }, files, jwks: 'd' })).toThrow(
      'emqx.conf has 0 times: bind = "0.0.0.0:18083"',
    )
  })
})

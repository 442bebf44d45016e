// Brokers for comparison that store nothing.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../engine/adapters/testing/free-port.ts'
import { until } from '../measure/deadline.ts'
import { type TrackedProcess, track } from './children.ts'
import { addressOf, startProgram } from './ready-line.ts'

const READY_MS = 20_000

export interface BareBroker extends TrackedProcess {
  readonly mqtt: { readonly host: string; readonly port: number }
}

export async function startBare(kind: 'aedes' | 'echo'): Promise<BareBroker> {
  const main = fileURLToPath(new URL(`./${kind}-main.js`, import.meta.url))
  const program = await startProgram({ args: [main], env: process.env, readyMs: READY_MS })
  return { ...program, mqtt: addressOf(program.ready.mqttUrl) }
}

/** Starts mosquitto from the PATH without persistence. Resolves with undefined if it is not installed. */
export async function startMosquitto(dir: string): Promise<BareBroker | undefined> {
  const port = await freePort()
  const file = join(dir, 'mosquitto.conf')
  writeFileSync(file, mosquittoConf(port))
  const child = spawn('mosquitto', ['-c', file], { stdio: 'ignore' })
  const isMissing = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true))
    child.once('spawn', () => resolve(false))
  })
  if (isMissing) return undefined
  const tracked = track(child)
  await until('mosquitto', { deadlineMs: READY_MS, everyMs: 20 }, () => canConnect(port))
  return { ...tracked, mqtt: { host: '127.0.0.1', port } }
}

// Queues are unlimited, so that messages wait for the consumer and none is dropped.
function mosquittoConf(port: number): string {
  return `listener ${port} 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 0
max_inflight_messages 0
set_tcp_nodelay true
log_dest none
user root
`
}

function canConnect(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(undefined))
  })
}

// Runs devices of Fleet's own simulator in a separate process, and provides firmware for them.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Summary } from '../../engine/edge/simulator/scenario/summary.ts'
import { until, within } from '../measure/deadline.ts'
import { type TrackedProcess, track } from '../targets/children.ts'
import type { Service } from '../targets/service.ts'
import type { Rest } from './rest.ts'

const CLI = fileURLToPath(new URL('../../program/fleet.js', import.meta.url))
/** How long registering and connecting may take. */
const CONNECTED_MS = 900_000
const POLLING = { deadlineMs: CONNECTED_MS, everyMs: 500 }
const UPLOAD_MS = 60_000

export interface OpenPlace {
  readonly dir: string
  readonly service: Service
  readonly rest: Rest
}

export interface RunningFleet {
  readonly child: TrackedProcess
  readonly summary: Promise<Summary>
}

export function startSimulated({ dir, service, rest }: OpenPlace, scenario: object): RunningFleet {
  const path = join(mkdtempSync(join(dir, 'scenario-')), 'scenario.yaml')
  writeFileSync(path, JSON.stringify(scenario))
  const child = spawn(process.execPath, [CLI, 'simulate', '--scenario', path, '--json'], {
    env: { ...process.env, FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: rest.token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child: track(child), summary: summaryOf(child) }
}

async function summaryOf(child: ChildProcess): Promise<Summary> {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await new Promise((resolve) => child.once('close', resolve))
  // The simulator's own tests check its summary.
  return JSON.parse(text) as Summary
}

export async function allOnline(
  { rest }: Pick<OpenPlace, 'rest'>,
  { group, count }: { readonly group: string; readonly count: number },
): Promise<void> {
  await until(`${count} online`, POLLING, async () => {
    const path = `/api/v1/devices?group=${group}&status=online&type=mqtt_device&per_page=1`
    // While thousands of devices connect, the service may be too busy to answer.
    const text = await rest.text(path).catch(() => '{}')
    return Reflect.get(Object(JSON.parse(text)), 'total') === count ? true : undefined
  })
}

/** Uploads an image of this size for the devices. */
export async function uploadImage(
  { service, rest }: Pick<OpenPlace, 'service' | 'rest'>,
  { version, bytes }: { readonly version: string; readonly bytes: number },
): Promise<void> {
  const form = new FormData()
  form.set('version', version)
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([Buffer.alloc(bytes, 1)]), 'image.bin')
  const headers = { authorization: `Bearer ${rest.token}` }
  const sent = fetch(`${service.httpUrl}/api/v1/ota/firmware`, { method: 'POST', headers, body: form })
  const uploaded = await within(UPLOAD_MS, 'upload', sent)
  if (uploaded.status !== 201) throw new Error(`upload: ${uploaded.status} ${await uploaded.text()}`)
}

/** Resolves with the id of the deployment. */
export async function deploy({ rest }: Pick<OpenPlace, 'rest'>, wish: object): Promise<string> {
  const about = { device_type: 'mqtt_device', strategy: 'all', stable_sec: 0 }
  const text = await rest.post('/api/v1/ota/deployments', { ...about, ...wish })
  return String(Reflect.get(JSON.parse(text), 'deployment_id'))
}

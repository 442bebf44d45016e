// Programs under test print one JSON line when they accept connections: {"msg":"ready","mqtt_url":…}.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { within } from '../measure/deadline.ts'
import { type TrackedProcess, track } from './children.ts'

const STDERR_KEPT = 4_000

export interface Program extends TrackedProcess {
  readonly ready: ReadyLine
  /** Returns the end of what the program printed to stderr. */
  said(): string
}

export interface ReadyLine {
  readonly httpUrl: string
  readonly mqttUrl: string
}

export interface ProgramOptions {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly readyMs: number
}

/** Starts a Node program and waits for its ready line. */
export async function startProgram({ args, env, readyMs }: ProgramOptions): Promise<Program> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const tracked = track(child)
  const said = keepTail(child)
  const ready = new Promise<ReadyLine>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const parsed = parseReady(line)
      if (parsed !== undefined) resolve(parsed)
      else said(line)
    })
    child.once('exit', (code, signal) =>
      reject(new Error(`${args[0]} ended (${code ?? signal}): ${said('')}`)),
    )
  })
  try {
    return {
      ...tracked,
      ready: await within(readyMs, `ready line of ${args[0]}`, ready),
      said: () => said(''),
    }
  } catch (error) {
    await tracked.kill('SIGKILL')
    throw error
  }
}

/** The host and port of an mqtt:// or http:// URL. */
export function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

function parseReady(line: string): ReadyLine | undefined {
  if (!line.startsWith('{') || !line.includes('"ready"')) return undefined
  const parsed: unknown = JSON.parse(line)
  if (typeof parsed !== 'object' || parsed === null || Reflect.get(parsed, 'msg') !== 'ready')
    return undefined
  return {
    httpUrl: String(Reflect.get(parsed, 'http_url')),
    mqttUrl: String(Reflect.get(parsed, 'mqtt_url')),
  }
}

function keepTail(child: ChildProcess): (line: string) => string {
  let tail = ''
  const add = (text: string): string => {
    tail = (tail + text).slice(-STDERR_KEPT)
    return tail
  }
  child.stderr?.setEncoding('utf8').on('data', add)
  return (line) => add(line === '' ? '' : `${line}\n`)
}

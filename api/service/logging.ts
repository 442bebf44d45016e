// Program logging: JSON lines on stdout, without secrets.
import { type DestinationStream, pino } from 'pino'
import type { Logger } from '../logger.ts'

const SECRETS = [
  'authorization',
  'cookie',
  'password',
  'token',
  'access_token',
  'refresh_token',
  'mqtt_token',
  'secret',
]

/** One level of nesting is enough, because nothing logs whole bodies. */
const REDACTED = SECRETS.flatMap((name) => [name, `*.${name}`])

export function openLogger(options: {
  readonly level: string
  /** Name of the node. If set, it is part of every line. */
  readonly node?: string | undefined
  readonly to?: DestinationStream
}): Logger {
  const settings = {
    level: options.level,
    base: options.node === undefined ? null : { node: options.node },
    redact: { paths: REDACTED, censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  return options.to === undefined ? pino(settings) : pino(settings, options.to)
}

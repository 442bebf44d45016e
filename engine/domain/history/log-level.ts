// The levels of log lines, and the words and numbers that other systems use for them. [spec: contract 2.13]

import type { LogLevel } from '../../../schemas/vocabulary.ts'

const WORDS: Readonly<Record<string, LogLevel>> = {
  trace: 'debug',
  verbose: 'debug',
  debug: 'debug',
  info: 'info',
  information: 'info',
  notice: 'info',
  warn: 'warn',
  warning: 'warn',
  err: 'error',
  error: 'error',
  crit: 'fatal',
  critical: 'fatal',
  alert: 'fatal',
  emerg: 'fatal',
  emergency: 'fatal',
  panic: 'fatal',
  fatal: 'fatal',
}

/** [ROS 2: rcl_interfaces/Log] */
const ROS: Readonly<Record<number, LogLevel>> = {
  10: 'debug',
  20: 'info',
  30: 'warn',
  40: 'error',
  50: 'fatal',
}
/** [RFC 5424] 0 is the most severe. */
const SYSLOG: readonly LogLevel[] = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug']
/** [OpenTelemetry: SeverityNumber] Each level has four numbers; the first number is 1. */
const OTEL: readonly LogLevel[] = ['debug', 'debug', 'info', 'warn', 'error', 'fatal']

/** The numbers of the three systems overlap. The five of ROS win, then the eight of syslog, then OpenTelemetry gets the
 *  rest. In `severity_number`, which is OpenTelemetry's own field, all of its numbers are understood. */
export function parseLevel(level: unknown): LogLevel | undefined {
  if (typeof level === 'number') return ROS[level] ?? SYSLOG[level] ?? parseSeverityNumber(level)
  if (typeof level !== 'string') return undefined
  const word = level.toLowerCase()
  return Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
}

export function parseSeverityNumber(number: unknown): LogLevel | undefined {
  return typeof number === 'number' && Number.isInteger(number)
    ? OTEL[Math.floor((number - 1) / 4)]
    : undefined
}

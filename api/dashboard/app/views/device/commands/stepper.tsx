// The way of a command: sent, delivered, acknowledged, ended, each with its time since the step before. A step that never
// was reported is not drawn as done.
import type { CommandBody } from '../../../../../../schemas/command.ts'
import { exactInstant } from '../../../words/time.ts'
import { number, words } from '../../../words/words.ts'

const t = words({
  pending: ['sent', 'gesendet'],
  acked: ['acknowledged', 'bestätigt'],
  completed: ['completed', 'ausgeführt'],
  steps: ['Steps', 'Schritte'],
  ms: ['+{n} ms', '+{n} ms'],
  seconds: ['+{n} s', '+{n} s'],
})

interface Step {
  readonly name: Parameters<typeof t>[0]
  readonly at: string | null
  readonly isReached: boolean
}

export function Stepper({ command }: { readonly command: CommandBody }) {
  const steps = stepsOf(command)
  let before: number | undefined
  return (
    <ol class="stepper" aria-label={t('steps')}>
      {steps.map(({ name, at, isReached }) => {
        const ms = at === null ? undefined : Date.parse(at)
        const passed = ms !== undefined && before !== undefined ? ms - before : undefined
        before = ms ?? before
        return (
          <li key={name} class={`step step-${name} ${isReached ? 'step-reached' : ''}`}>
            <span aria-hidden="true">{isReached ? (BAD.has(name) ? '✕' : '●') : '○'}</span> {t(name)}
            {!isReached && <span class="visually-hidden"> ({t('waiting')})</span>}
            {passed !== undefined && (
              <time class="muted" dateTime={at ?? ''} title={exactInstant(ms ?? 0)}>
                {' '}
                {passed < 10_000
                  ? t('ms', { n: passed })
                  : t('seconds', { n: number(passed / 1000, { maximumFractionDigits: 0 }) })}
              </time>
            )}
          </li>
        )
      })}
    </ol>
  )
}

const BAD = new Set<string>(['failed', 'rejected', 'expired', 'cancelled'])

function stepsOf(command: CommandBody): readonly Step[] {
  const { status } = command
  const isBad = BAD.has(status)
  const end: Step = isBad
    ? { name: status, at: endOf(command), isReached: true }
    : { name: 'completed', at: command.completed_at, isReached: status === 'completed' }
  const way: readonly Step[] = [
    { name: 'pending', at: command.created_at, isReached: true },
    { name: 'delivered', at: command.delivered_at, isReached: command.delivered_at !== null },
    { name: 'acked', at: command.acked_at, isReached: command.acked_at !== null },
  ]
  // What ended early never took the steps that it has no time of.
  return [...(isBad ? way.filter(({ isReached }) => isReached) : way), end]
}

function endOf({ status, completed_at, cancelled_at, expires_at }: CommandBody): string | null {
  if (status === 'cancelled') return cancelled_at
  return status === 'expired' ? expires_at : completed_at
}

// One command: its steps with the time between them, how far it is, and how it ended.
import type { CommandBody } from '../../../../../../schemas/command.ts'
import { refreshAnswers } from '../../../data/answers.ts'
import { fleet } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { Age } from '../../../parts/age.tsx'
import { Button } from '../../../parts/button.tsx'
import { personText } from '../../../parts/person-text.ts'
import { plainJson, plainText } from '../../../parts/plain-text.ts'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { words } from '../../../words/words.ts'
import { Stepper } from './stepper.tsx'
import './commands.css'

const t = words({
  again: ['Send again…', 'Noch einmal senden…'],
  data: ['Parameters', 'Parameter'],
  omitted: [
    'The result of {n} bytes was too large to be kept.',
    'Das Ergebnis von {n} Byte war zu groß zum Aufheben.',
  ],
  maintenance: ['Waits until maintenance ends.', 'Er wartet auf das Ende der Wartung.'],
  firmware_update: ['Waits until the firmware update ends.', 'Er wartet auf das Ende des Firmware-Updates.'],
  late: ['The answer arrived after the command had expired.', 'Die Antwort kam nach Ablauf der Frist.'],
  conflict: ['A later answer contradicts this: {status}', 'Eine spätere Antwort widerspricht: {status}'],
  tries: ['delivered {n} times', '{n}-mal zugestellt'],
  by: ['by {who}', 'von {who}'],
})

const OPEN = new Set(['pending', 'delivered', 'acked'])

export interface CommandCardProps {
  readonly command: CommandBody
  readonly onAgain: () => void
}

export function CommandCard({ command, onAgain }: CommandCardProps) {
  const { error, result, conflicts } = command
  const cancel = useWrite(async () => {
    await fleet.cancelCommand({ device_id: command.device_id, cmd_id: command.command_id })
    refreshAnswers('listCommands')
  })
  return (
    <article class="card command" data-status={command.status}>
      <header class="row card-head">
        <h3>
          {plainText(command.command)}{' '}
          <span class="muted command-when">
            <Age at={command.created_at} /> · {t('by', { who: personText(command.created_by) })}
            {command.attempts > 1 && ` · ${t('tries', { n: command.attempts })}`}
          </span>
        </h3>
        <div class="row">
          {OPEN.has(command.status) && (
            <Button write={cancel} onClick={() => void cancel.run()}>
              {t('cancel')}
            </Button>
          )}
          <Button kind="quiet" onClick={onAgain}>
            {t('again')}
          </Button>
        </div>
      </header>
      <Stepper command={command} />
      {command.progress !== null && OPEN.has(command.status) && (
        <progress aria-label={t('progress')} max={100} value={command.progress} />
      )}
      {command.held_reason !== null && <p class="severity-warning">▲ {t(command.held_reason)}</p>}
      {command.late && <p class="severity-warning">▲ {t('late')}</p>}
      {error !== null && (
        <p class="field-error">
          <code>{plainText(error.code)}</code> {plainText(error.message)}
        </p>
      )}
      {Object.keys(command.data).length > 0 && <Json name={t('data')} value={command.data} />}
      {result !== null && <Json name={t('result')} value={result} />}
      {command.result_bytes_omitted !== null && (
        <p class="hint">{t('omitted', { n: command.result_bytes_omitted })}</p>
      )}
      {conflicts.map((conflict) => (
        <p key={conflict.at} class="severity-warning">
          ▲ {t('conflict', { status: conflict.status })} <Age at={conflict.at} />
        </p>
      ))}
      <ProblemCard error={cancel.error.value} />
    </article>
  )
}

const INLINE_CHARS_MAX = 120

function Json({ name, value }: { readonly name: string; readonly value: unknown }) {
  const line = JSON.stringify(value)
  return line.length <= INLINE_CHARS_MAX ? (
    <p class="command-json">
      <span class="muted">{name}</span> <code>{plainText(line)}</code>
    </p>
  ) : (
    <details>
      <summary>{name}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable by keys. */}
      <pre tabIndex={0}>{plainJson(value)}</pre>
    </details>
  )
}

// Commands to this device: the form above, and each command sent with its steps, as the device's answers come in.
import { useRef, useState } from 'preact/hooks'
import { may } from '../../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../../data/answers.ts'
import { ConnectionError, fleet } from '../../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../../data/writes.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { commandInAddress, draftInAddress, parametersInAddress } from '../../../parts/command-address.ts'
import { type CommandDraft, CommandForm } from '../../../parts/command-form.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Pager, pageValue } from '../../../parts/pager.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { CommandCard } from './command-card.tsx'

const t = words({
  send: ['Send {command}', '{command} senden'],
  sent: ['Sent commands', 'Gesendete Befehle'],
  none: ['No commands sent to this device yet', 'An dieses Gerät ging noch kein Befehl'],
  first: ['Send the first one with the form above.', 'Das Formular oben sendet den ersten.'],
  offline: [
    'The device is not connected. The command waits until its timeout; last seen',
    'Das Gerät ist nicht verbunden. Der Befehl wartet bis zu seiner Frist; zuletzt gehört',
  ],
  gone: ['This device is decommissioned.', 'Dieses Gerät ist ausgemustert.'],
  forbidden: [
    'Sending commands needs the role operator; your role is viewer.',
    'Befehle sind für Operatoren und Admins; Ihre Rolle ist viewer.',
  ],
  ask: ['An admin of this service can change it.', 'Ein Admin dieses Dienstes kann das ändern.'],
  unknown: [
    'It is unknown whether the command was sent. Sending it again is safe: its idempotency key keeps it from running twice.',
    'Es ist nicht bekannt, ob der Befehl gesendet wurde. Noch einmal senden ist sicher: er behält seinen Schlüssel und wird nicht doppelt ausgeführt.',
  ],
})

/** A command that is to be sent again. */
interface Resent {
  readonly draft: CommandDraft
  readonly count: number
  /** What the address had in the form then. */
  readonly named: string
}

export default function CommandsTab({ device }: TabProps) {
  const { device_id: deviceId } = device
  const types = useAnswer('listDeviceTypes', {})
  const answer = useAnswer('listCommands', {
    device_id: deviceId,
    query: { page: pageValue.value, per_page: 20 },
  })
  useLiveAnswers({ channel: 'commands', filter: { device_id: deviceId } }, ['listCommands'])
  const [resent, setResent] = useState<Resent | undefined>()
  // Another command in the address was asked for since.
  const named = `${commandInAddress.value} ${parametersInAddress.value}`
  const again = resent?.named === named ? resent : undefined
  const form = useRef<HTMLElement>(null)
  if (!may('sendCommand')) return <Empty title={t('forbidden')} hint={t('ask')} />
  return (
    <div class="stack">
      <section class="card" ref={form}>
        <h2>{t('sendCommand')}</h2>
        {!device.connectivity.connected && device.status !== 'decommissioned' && (
          <p class="hint">
            {t('offline')} <Age at={device.last_seen_at} />
          </p>
        )}
        <AnswerArea answer={types}>
          {({ data }) => (
            <Composer
              key={`${named} ${again?.count ?? 0}`}
              deviceId={deviceId}
              commands={data.find(({ name }) => name === device.type)?.commands ?? null}
              initial={again?.draft ?? draftInAddress()}
              disabledBecause={device.status === 'decommissioned' ? t('gone') : undefined}
            />
          )}
        </AnswerArea>
      </section>
      <section class="stack" aria-label={t('sent')}>
        <h2>{t('sent')}</h2>
        <AnswerArea answer={answer}>
          {(page) =>
            page.data.length === 0 ? (
              <Empty title={t('none')} hint={t('first')} />
            ) : (
              <div class="stack">
                {page.data.map((command) => (
                  <CommandCard
                    key={command.command_id}
                    command={command}
                    onAgain={() => {
                      const { command: name, data, timeout_sec, priority } = command
                      setResent({
                        draft: { command: name, data, timeout_sec, priority },
                        count: (resent?.count ?? 0) + 1,
                        named,
                      })
                      form.current?.scrollIntoView({ block: 'start' })
                    }}
                  />
                ))}
                <Pager of={page} />
              </div>
            )
          }
        </AnswerArea>
      </section>
    </div>
  )
}

interface ComposerProps {
  readonly deviceId: string
  readonly commands: Parameters<typeof CommandForm>[0]['commands']
  readonly initial: Partial<CommandDraft> | undefined
  readonly disabledBecause: string | undefined
}

function Composer({ deviceId, commands, initial, disabledBecause }: ComposerProps) {
  // The key stays with a draft until it was sent, so that trying again cannot send it twice.
  const key = useRef(newIdempotencyKey())
  const write = useWrite(async (draft: CommandDraft) => {
    await fleet.sendCommand({ device_id: deviceId, body: draft, idempotencyKey: key.current })
    key.current = newIdempotencyKey()
    refreshAnswers('listCommands')
  })
  const error = write.error.value
  return (
    <>
      <CommandForm
        isFinal
        commands={commands}
        {...(initial === undefined ? {} : { initial })}
        action={(command) => t('send', { command })}
        write={write}
        error={error}
        disabledBecause={disabledBecause}
        onChange={() => {
          key.current = newIdempotencyKey()
        }}
        onSend={(draft) => void write.run(draft)}
      />
      {error instanceof ConnectionError && <p role="status">{t('unknown')}</p>}
      <ProblemCard error={error} />
    </>
  )
}

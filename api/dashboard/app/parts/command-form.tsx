// The form of a command, made of the device type's own description of it. It is used for one device and for many; who uses
// it sends the draft.

import { useEffect, useMemo, useState } from 'preact/hooks'
import { isObject, parseJson } from '../../../../schemas/json.ts'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../../../schemas/vocabulary.ts'
import type { Write } from '../data/writes.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { CheckField } from './check-field.tsx'
import {
  type CommandData,
  type CommandParameter,
  orderedParameters,
  type ParameterTexts,
  type TypeCommand,
  toData,
  toTexts,
  type WrongParameter,
} from './command-draft.ts'
import { Field, fieldError } from './field.tsx'
import { HoldButton } from './hold-button.tsx'
import { JsonField } from './json-field.tsx'
import { ParameterField } from './parameter-field.tsx'
import { SelectField } from './select-field.tsx'
import { submits } from './submits.ts'

const t = words({
  name: ['Command name', 'Name des Befehls'],
  noName: ['Enter the name of the command first.', 'Geben Sie zuerst den Namen des Befehls ein.'],
  free: [
    'This type of device does not say which commands it knows, so any name goes. A device type lists them under "commands".',
    'Dieser Gerätetyp nennt seine Befehle nicht, also gilt jeder Name. Ein Gerätetyp führt sie unter „commands“ auf.',
  ],
  none: ['This type of device takes no commands.', 'Dieser Gerätetyp nimmt keine Befehle an.'],
  noParameters: ['It has no parameters.', 'Er hat keine Parameter.'],
  asJson: ['Parameters as JSON', 'Parameter als JSON'],
  data: ['Parameters (JSON object)', 'Parameter (JSON-Objekt)'],
  options: ['Timeout and priority', 'Frist und Vorrang'],
  timeout: ['Timeout in seconds', 'Frist in Sekunden'],
  timeoutHint: ['Empty: 30 s, critical ones 10 s', 'Leer: 30 s, kritische 10 s'],
  priority: ['Priority', 'Vorrang'],
  high: ['high', 'hoch'],
  normal: ['normal', 'normal'],
  low: ['low', 'niedrig'],
  missing: ['This field is required.', 'Das wird gebraucht.'],
  'no-number': ['Enter a number.', 'Das muss eine Zahl sein.'],
  'no-integer': ['Enter a whole number.', 'Das muss eine ganze Zahl sein.'],
  'no-json': ['Not valid JSON.', 'Das ist kein JSON.'],
  'no-list': ['Enter a JSON list: […]', 'Das muss eine JSON-Liste sein: […]'],
  'no-object': ['Enter a JSON object: {…}', 'Das muss ein JSON-Objekt sein: {…}'],
})

export interface CommandDraft {
  readonly command: string
  readonly data: CommandData
  readonly timeout_sec?: number
  readonly priority?: CommandPriority
}

export interface CommandFormProps {
  /** Null means that the type does not restrict commands. */
  readonly commands: readonly TypeCommand[] | null
  /** What the form begins with: a quick command, or one that is sent again. */
  readonly initial?: Partial<CommandDraft>
  /** What the button does, with the name of the command. */
  readonly action: (command: string) => string
  readonly onSend: (draft: CommandDraft) => void
  /** Tells of each change, since another draft is another request. */
  readonly onChange?: (draft: CommandDraft | undefined) => void
  readonly write?: Pick<Write<[]>, 'isUnderWay'>
  readonly error?: unknown
  readonly disabledBecause?: string | undefined
  /** The button sends, and does not only lead to a look: a critical command is held, or sent by a second Enter. */
  readonly isFinal?: boolean
}

/** The last values of each command, as long as the page lives. */
const remembered = new Map<string, ParameterTexts>()

export function CommandForm(props: CommandFormProps) {
  const { commands, initial = {}, action, onSend, onChange, write, error, isFinal } = props
  const [name, setName] = useState(initial.command ?? commands?.[0]?.name ?? '')
  const command = commands?.find((known) => known.name === name)
  const parameters = useMemo(() => (command === undefined ? [] : orderedParameters(command)), [command])
  const [texts, setTexts] = useState<ParameterTexts>(() => textsFor(name, initial.data))
  const [isJson, setJson] = useState(() => !fits(commands, name, initial.data))
  const [json, setJsonText] = useState(() => JSON.stringify(initial.data ?? {}, null, 2))
  const [timeout, setTimeoutText] = useState(
    initial.timeout_sec === undefined ? '' : String(initial.timeout_sec),
  )
  const [priority, setPriority] = useState<CommandPriority>(initial.priority ?? 'normal')
  const [wrong, setWrong] = useState<Readonly<Record<string, WrongParameter>>>({})

  const asJson = isJson || commands === null
  const data = asJson ? dataOf(json) : toData(parameters, texts)
  const draft: CommandDraft | undefined =
    data.kind === 'wrong' || name === ''
      ? undefined
      : {
          command: name,
          data: data.data,
          ...(timeout === '' ? {} : { timeout_sec: Number(timeout) }),
          ...(priority === 'normal' ? {} : { priority }),
        }
  const disabledBecause = props.disabledBecause ?? (name === '' ? t('noName') : undefined)
  const key = JSON.stringify(draft)
  useEffect(() => onChange?.(draft), [key])

  const choose = (next: string) => {
    setName(next)
    setTexts(textsFor(next, undefined))
    setJsonText('{}')
    setWrong({})
  }
  const submit = () => {
    setWrong(data.kind === 'wrong' ? data.wrong : {})
    if (draft === undefined || disabledBecause !== undefined || write?.isUnderWay.peek() === true) return
    remembered.set(name, texts)
    onSend(draft)
  }
  if (commands !== null && commands.length === 0) return <p class="muted">{t('none')}</p>
  return (
    <form class="form command-form" noValidate onSubmit={submits(() => submit())}>
      {commands === null ? (
        <>
          <p class="hint">{t('free')}</p>
          <Field
            label={t('name')}
            value={name}
            onValue={setName}
            maxLength={128}
            required
            error={error}
            pointer="/command"
          />
        </>
      ) : (
        <SelectField
          label={t('command')}
          value={name}
          options={commands.map((known) => [known.name, known.name] as const)}
          onValue={choose}
        />
      )}
      {command?.description != null && <p class="hint">{command.description}</p>}
      {asJson ? (
        <JsonField
          label={t('data')}
          text={json}
          onText={setJsonText}
          rows={6}
          bytesMax={65_536}
          error={data.kind === 'wrong' ? t('no-object') : fieldError(error, '/data')}
        />
      ) : (
        <ParameterFields {...{ parameters, texts, setTexts, wrong, error }} />
      )}
      {commands !== null && (
        <CheckField
          label={t('asJson')}
          isOn={isJson}
          onValue={(isOn) => {
            if (isOn && data.kind === 'data') setJsonText(JSON.stringify(data.data, null, 2))
            if (!isOn && data.kind === 'data') setTexts(toTexts(data.data))
            setJson(isOn)
          }}
        />
      )}
      <details>
        <summary>{t('options')}</summary>
        <div class="form-pair">
          <Field
            label={t('timeout')}
            hint={t('timeoutHint')}
            type="number"
            min={1}
            max={604_800}
            step={1}
            value={timeout}
            onValue={setTimeoutText}
            error={error}
            pointer="/timeout_sec"
          />
          <SelectField
            label={t('priority')}
            value={priority}
            options={COMMAND_PRIORITIES.map((word) => [word, t(word)] as const)}
            onValue={setPriority}
          />
        </div>
      </details>
      <div class="row">
        {isFinal && priority === 'critical' ? (
          <HoldButton
            type="submit"
            icon="send"
            write={write}
            disabledBecause={disabledBecause}
            onMeant={submit}
          >
            {action(name)}
          </HoldButton>
        ) : (
          <Button type="submit" kind="primary" icon="send" write={write} disabledBecause={disabledBecause}>
            {action(name)}
          </Button>
        )}
      </div>
    </form>
  )
}

function ParameterFields({
  parameters,
  texts,
  setTexts,
  wrong,
  error,
}: {
  readonly parameters: readonly CommandParameter[]
  readonly texts: ParameterTexts
  readonly setTexts: (texts: ParameterTexts) => void
  readonly wrong: Readonly<Record<string, WrongParameter>>
  readonly error: unknown
}) {
  if (parameters.length === 0) return <p class="hint">{t('noParameters')}</p>
  return (
    <>
      {parameters.map((parameter) => {
        const reason = wrong[parameter.name]
        return (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            text={texts[parameter.name] ?? ''}
            onText={(text) => setTexts({ ...texts, [parameter.name]: text })}
            wrong={reason === undefined ? fieldError(error, `/data/${parameter.name}`) : t(reason)}
          />
        )
      })}
    </>
  )
}

const textsFor = (name: string, data: CommandData | undefined): ParameterTexts =>
  data === undefined ? (remembered.get(name) ?? {}) : toTexts(data)

/** Whether the form has a field for everything in the data. */
function fits(commands: CommandFormProps['commands'], name: string, data: CommandData = {}): boolean {
  const parameters = commands?.find((command) => command.name === name)?.parameters ?? []
  return Object.keys(data).every((key) => parameters.some((parameter) => parameter.name === key))
}

function dataOf(
  json: string,
): { kind: 'data'; data: CommandData } | { kind: 'wrong'; wrong: Record<string, WrongParameter> } {
  const value = json.trim() === '' ? {} : parseJson(json)
  return isObject(value) ? { kind: 'data', data: value } : { kind: 'wrong', wrong: {} }
}

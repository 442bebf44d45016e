// The shadow as it was at a version, beside any other one: what differs, leaf by leaf. A leaf or the whole desired side can
// be brought back: it becomes edits, which are reviewed like any others.

import { useEffect, useId, useState } from 'preact/hooks'
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { whole } from '../../../address/codecs.ts'
import { useAnswer } from '../../../data/answers.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { Button } from '../../../parts/button.tsx'
import { DataTable } from '../../../parts/data-table.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { isSame, pathKey, valueAt } from '../../../shadow-merge/leaves.ts'
import { difference, type Edit, valueAfter } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { JsonText } from './json-text.tsx'
import { Side } from './shadow-json.tsx'
import type { ShadowDocument } from './shadow-table.tsx'

const t = words({
  title: ['Compare versions', 'Versionen vergleichen'],
  at: ['Version', 'Version'],
  than: ['Compared with', 'Verglichen mit'],
  now: ['{n}, now', '{n}, jetzt'],
  caption: ['What differs', 'Was sich unterscheidet'],
  version: ['Version {n}', 'Version {n}'],
  same: ['The two versions say the same.', 'Beide Versionen sagen dasselbe.'],
  leafBack: ['Bring back', 'Zurückholen'],
  leafBackLabel: ['Bring back {path} of version {n}', 'Zurückholen: {path} von Version {n}'],
  back: ['Bring version {n} back', 'Version {n} zurückholen'],
  already: ['The desired state has these values already.', 'Der gewünschte Stand ist schon so.'],
  document: ['The whole document at version {n}', 'Das ganze Dokument bei Version {n}'],
})

const VERSION_MAX = Number.MAX_SAFE_INTEGER
/** -1 stands for the newest one, whichever that is. */
const atValue = queryValue('at', whole(-1, 0, VERSION_MAX))
const thanValue = queryValue('than', whole(-1, 0, VERSION_MAX))

export interface ShadowVersionsProps {
  readonly document: ShadowDocument
  /** Undefined only shows the versions. */
  readonly onEdits: ((edits: readonly Edit[]) => void) | undefined
}

export function ShadowVersions({ document, onEdits }: ShadowVersionsProps) {
  const { device_id, version: newest } = document
  const at = versionOf(atValue.value, newest)
  const than = versionOf(thanValue.value, newest)
  const one = useVersion(device_id, at, newest)
  const other = useVersion(device_id, than, newest)
  const shown = at === newest ? document : one.data
  const beside = than === newest ? document : other.data
  const desired = document.desired as JsonObject
  const back = shown === undefined ? [] : difference(desired, shown.desired as JsonObject)
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <div class="versions">
        <VersionSlider label={t('at')} value={at} {...{ newest }} onValue={(n) => set(atValue, n, newest)} />
        <VersionSlider
          label={t('than')}
          value={than}
          {...{ newest }}
          onValue={(n) => set(thanValue, n, newest)}
        />
        {onEdits !== undefined && (
          <Button
            icon="undo-2"
            disabledBecause={back.length === 0 ? t('already') : undefined}
            onClick={() => onEdits(back)}
          >
            {t('back', { n: at })}
          </Button>
        )}
      </div>
      {shown === undefined ? (
        <AnswerArea answer={one}>{() => null}</AnswerArea>
      ) : beside === undefined ? (
        <AnswerArea answer={other}>{() => null}</AnswerArea>
      ) : (
        <Differences {...{ shown, beside, desired, onEdits }} />
      )}
      {shown !== undefined && (
        <details>
          <summary>{t('document', { n: at })}</summary>
          <div class="shadow-sides">
            {(['desired', 'reported'] as const).map((side) => (
              <div key={side} class="stack">
                <h3>{t(side)}</h3>
                <Side value={shown[side]} />
              </div>
            ))}
          </div>
        </details>
      )}
    </section>
  )
}

interface DifferencesProps {
  readonly shown: ShadowDocument
  readonly beside: ShadowDocument
  /** The desired state of now. */
  readonly desired: JsonObject
  readonly onEdits: ShadowVersionsProps['onEdits']
}

function Differences({ shown, beside, desired, onEdits }: DifferencesProps) {
  const rows = (['desired', 'reported'] as const).flatMap((side) =>
    difference(beside[side] as JsonObject, shown[side] as JsonObject).map((edit) => ({ side, edit })),
  )
  const isAlready = (edit: Edit) => isSame(valueAt(desired, edit.path), valueAfter(edit))
  if (rows.length === 0) return <p class="muted">{t('same')}</p>
  return (
    <DataTable
      caption={t('caption')}
      rows={rows}
      idOf={({ side, edit }) => `${side} ${pathKey(edit.path)}`}
      columns={[
        { name: t('side'), cell: ({ side }) => t(side) },
        { name: t('leaf'), cell: ({ edit }) => <code>{plainText(edit.path.join('.'))}</code> },
        {
          name: t('version', { n: beside.version }),
          cell: ({ side, edit }) => <JsonText value={valueAt(beside[side] as JsonObject, edit.path)} />,
        },
        {
          name: t('version', { n: shown.version }),
          cell: ({ side, edit }) => (
            <>
              <JsonText value={valueAfter(edit)} />{' '}
              {side === 'desired' && onEdits !== undefined && !isAlready(edit) && (
                <Button
                  kind="quiet"
                  icon="undo-2"
                  label={t('leafBackLabel', { path: plainText(edit.path.join('.')), n: shown.version })}
                  onClick={() => onEdits([edit])}
                >
                  {t('leafBack')}
                </Button>
              )}
            </>
          ),
        },
      ]}
    />
  )
}

interface VersionSliderProps {
  readonly label: string
  readonly value: number
  readonly newest: number
  readonly onValue: (version: number) => void
}

/** The number follows the thumb; the document is asked for where it is let go. */
function VersionSlider({ label, value, newest, onValue }: VersionSliderProps) {
  const id = useId()
  const [moved, setMoved] = useState(value)
  useEffect(() => setMoved(value), [value])
  const said = moved === newest ? t('now', { n: newest }) : t('version', { n: moved })
  return (
    <div class="field version-slider">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={newest}
        value={moved}
        aria-valuetext={said}
        onInput={({ currentTarget }) => setMoved(currentTarget.valueAsNumber)}
        onChange={({ currentTarget }) => onValue(currentTarget.valueAsNumber)}
      />
      <output for={id}>{said}</output>
    </div>
  )
}

/** The newest one is at hand already. */
const useVersion = (device_id: string, version: number, newest: number) =>
  useAnswer(
    'getShadow',
    { device_id, query: { at_version: version } },
    { isWanted: version !== newest, isFixed: true },
  )

const versionOf = (named: number, newest: number) => (named === -1 || named > newest ? newest : named)

const set = (of: typeof atValue, version: number, newest: number) => of.set(version === newest ? -1 : version)

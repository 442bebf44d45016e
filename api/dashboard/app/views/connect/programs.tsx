import { text } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { t } from './connect-words.ts'
import { type SnippetParts, snippets } from './snippets.ts'

const PLACE_OF_TOKEN = '$TOKEN'
const programValue = queryValue('program', text('mosquitto_pub', 40))

export interface ProgramsProps extends Omit<SnippetParts, 'token'> {
  /** Undefined leaves a place for it. */
  readonly token: string | undefined
  /** The page that it stands on; the chosen program is in its address. */
  readonly on: Parameters<typeof pathOf>[0]
}

/** Complete programs for a device, to copy. */
export function Programs({ on, endpoint, deviceId, token }: ProgramsProps) {
  const programs = snippets({ endpoint, deviceId, token: token ?? PLACE_OF_TOKEN })
  const chosen = programs.find(({ name }) => name === programValue.value) ?? programs[0]
  return (
    <section class="card" aria-labelledby="program">
      <h2 id="program">{t('program')}</h2>
      <Tabs
        label={t('programs')}
        tabs={programs.map(({ name }) => ({
          href: pathOf(on, { device_id: deviceId }, { program: name === 'mosquitto_pub' ? undefined : name }),
          label: name,
          isCurrent: name === chosen?.name,
        }))}
      />
      {chosen !== undefined && <CopyField isBlock label={chosen.name} text={chosen.text} />}
    </section>
  )
}

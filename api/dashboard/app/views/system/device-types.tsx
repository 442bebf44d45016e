import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { words } from '../../words/words.ts'

const t = words({
  any: ['any command is accepted', 'jeder Befehl wird genommen'],
  devices: ['{n} device | {n} devices', '{n} Gerät davon | {n} Geräte davon'],
  who: ['Devices', 'Seine Geräte'],
})

export function DeviceTypes() {
  const answer = useAnswer('listDeviceTypes', {})
  const summary = useAnswer('getFleetSummary', { query: { by: 'type' } })
  const counts = summary.data?.data
  // Nothing is said of a number that was not read.
  const devicesOf = (name: string) =>
    counts === undefined ? t('who') : t('devices', { n: counts.find(({ key }) => key === name)?.total ?? 0 })
  return (
    <AnswerArea answer={answer}>
      {({ data }) => (
        <div class="cards">
          {data.map((type) => (
            <section key={type.name} class="card">
              <h2>{type.display_name}</h2>
              <p class="mono muted">{type.name}</p>
              <div>
                <h3>{t('commands')}</h3>
                {type.commands === null ? (
                  <p class="muted">{t('any')}</p>
                ) : (
                  <ul>
                    {type.commands.map(({ name, description }) => (
                      <li key={name}>
                        <code>{name}</code> <span class="muted">{description}</span>
                      </li>
                    ))}
                  </ul>
                )}
              </div>
              <a href={pathOf('devices', {}, { q: `type:${type.name}` })}>{devicesOf(type.name)}</a>
            </section>
          ))}
        </div>
      )}
    </AnswerArea>
  )
}

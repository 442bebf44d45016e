// The passwords that attackers try first. The list contains only those that are long enough to be accepted otherwise.
import { invalid, type Refusal } from '../refusal.ts'

const COMMON = new Set(
  `
  00000000 000000000 01234567 0123456789 09876543 0987654321 10203040 11111111 111111111 11112222 11223344 1122334455
  12121212 12123434 123123123 12312312 123321123 12341234 1234554321 12344321 12345678 123456789 1234567890 123456789a
  123456789q 12345678a 12345678q 123456abc 123456qwe 1234abcd 1234asdf 1234qwer 123abc123 123qwe123 123qweasd 131313131
  13131313 147147147 147258369 14725836 147852369 159357159 159753159 19841984 1q2w3e4r 1q2w3e4r5t 1qaz1qaz 1qaz2wsx
  1qazxsw2 20002000 20202020 21212121 22222222 222222222 23232323 25802580 31415926 321321321 33333333 333333333 36363636
  43214321 44444444 444444444 45645645 456456456 54321543 55555555 555555555 65432100 654321654 66666666 666666666
  69696969 741852963 77777777 777777777 78945612 789456123 7894561230 789789789 87654321 876543210 88888888 888888888
  963852741 98765432 987654321 9876543210 99999999 999999999 a1234567 a12345678 a123456789 a1b2c3d4 aa123456 aa12345678
  aaaaaaaa abc12345 abc123456 abcd1234 abcdefgh abcdefghi access14 admin123 admin1234 admin12345 admin123456 admin@123
  adminadmin administrator alexander alexandra apple123 asd123456 asdasdasd asdf1234 asdfasdf asdfghjk asdfghjkl
  asdfjkl; babygirl barcelona baseball baseball1 basketball beautiful benjamin bismillah bluebird bonjour1 brooklyn
  butterfly caroline changeit changeme changeme1 changeme123 charlie1 charlotte chelsea1 chocolate christian christine
  christopher cocacola computer computer1 coolcool courtney danielle darkness default1 diamonds diamond1 dragon123
  einstein elephant elizabeth evolution facebook fernando football football1 forever1 franklin freedom1 friendship
  gangster garfield gateway1 godzilla goldfish google123 grandma1 greenday guest123 hallo123 hardcore hello123 hello1234
  hellohello helpme12 iloveyou iloveyou1 iloveyou2 internet jackass1 jasmine1 jennifer jessica1 jonathan jordan23
  juventus k1234567 killer12 kimberly lakers24 letmein1 letmein123 letmein! liverpool liverpool1 logitech login123
  lovelove loveyou1 manchester marlboro marseille mercedes michael1 michelle midnight monkey12 monkey123 mustang1
  mypassword nicholas nicole12 ncc1701d november p4ssw0rd p@55w0rd p@ssw0rd p@ssword p@ssw0rd1 p@ssw0rd123 pa$$w0rd
  pakistan paradise parola123 pass1234 pass12345 passpass passport passw0rd passw0rd1 passwd123 password password! password0
  password01 password1 password1! password11 password12 password123 password123! password1234 password2 password3
  passwordpassword patricia platinum playstation pokemon1 portugal precious primavera princess princess1 qazwsx123
  qazwsxedc qazxswedc qq123456 q1w2e3r4 q1w2e3r4t5 qwaszx12 qwe12345 qwe123456 qwe123qwe qweasdzxc qweqweqwe qwer1234
  qwerasdf qwerqwer qwert123 qwert12345 qwerty01 qwerty1! qwerty11 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456
  qwertyqwerty qwertyui qwertyuiop qwertz123 realmadrid remember renegade richard1 rockstar rootroot root1234 samantha
  samsung1 samsung123 savannah scarface scorpion secret12 secret123 security september shadow12 shadow123 simpsons
  slipknot snickers snowball softball something spiderman spiderman1 starwars starwars1 startrek stephanie steelers
  sterling strawberry success1 sunflower sunshine sunshine1 superman superman1 superstar supervisor sweetheart sweetness
  test1234 test12345 test123456 testtest testing1 testing123 thunder1 tinkerbell titanic1 trustno1 undertaker valentina
  valentine vanessa1 vbnm1234 veronica victoria warcraft warrior1 waterloo welcome1 welcome12 welcome123 welcome1234
  whatever whatever1 william1 wordpass writer12 yankees1 zaq12wsx zaq1xsw2 zaq1zaq1 zxcvbnm1 zxcvbnm123 zxcvbnm, zxcvzxcv
  `
    .trim()
    .split(/\s+/),
)

/** One character repeated this often is safe: a guesser would have to know how often. */
const REPEATED_CHARS = 32

/** Refuses common passwords, the e-mail, and one repeated character. Letter case is ignored: it hardly hinders guessing. */
export function refuseCommon(password: string, email: string): Refusal | undefined {
  const text = password.normalize('NFKC').toLowerCase()
  if (COMMON.has(text)) return commonPassword('is one of the most common passwords')
  if (text === email) return commonPassword('is the e-mail of the account')
  if (text.length < REPEATED_CHARS && new Set(text).size === 1)
    return commonPassword('is one character over and over')
  return undefined
}

const commonPassword = (why: string) =>
  invalid('/password', {
    code: 'COMMON_PASSWORD',
    message: `${why} and would be guessed at once; take several words that do not belong together`,
  })

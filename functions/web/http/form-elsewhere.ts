/** The address only takes a form. The browser is led to the page that shows it. */
export class FormElsewhere extends Error {
  override name = 'FormElsewhere'
}

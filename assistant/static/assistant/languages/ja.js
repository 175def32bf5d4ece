export const plural = (n) => Number(0);
export default {};

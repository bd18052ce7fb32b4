/* SPDX-License-Identifier: Apache-2.0 */
/* argv -> command table -> exit status. */
int main(void)
{
	return 0;
}
